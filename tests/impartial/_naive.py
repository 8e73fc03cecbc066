"""What blocks should give, written down as plainly as possible: loops, float64, one problem at a time.

A method is a function from a Gram matrix to a mixing matrix C [T, T]; its gradients are C J. Faces of small problems
are tried one by one. Only CAGrad and FairGrad take the library's own solution in float64.
"""

from itertools import chain, combinations

import torch

from evenhand.impartial import CAGrad, FairGrad

from ._inputs import generator


def active(gram):
    return [t for t in range(len(gram)) if gram[t, t] > 0]


def faces(members):
    return chain.from_iterable(combinations(members, k) for k in range(1, len(members) + 1))


def scaling(weights):
    return torch.diag(torch.as_tensor(weights, dtype=torch.float64))


def plain(gram):
    return torch.eye(len(gram), dtype=torch.float64)


def dbmtl(gram):
    norms = gram.diagonal().sqrt()
    return scaling([norms.max() / n if n > 0 else 0.0 for n in norms])


def mgda(gram):
    """The best of the solutions on all faces of the simplex."""
    best, weights = torch.inf, torch.zeros(len(gram), dtype=torch.float64)
    for face in map(list, faces(active(gram))):
        norms = gram[face, face].sqrt()
        inner = gram[face][:, face] / norms / norms[:, None]
        part = torch.linalg.lstsq(inner, norms.min() / norms).solution / norms
        if (part < 0).any() or part.sum() <= 0:
            continue
        part = part / part.sum()
        length = part @ gram[face][:, face] @ part
        if length < best:
            best, weights = length, torch.zeros_like(weights)
            weights[face] = part
    return scaling(weights)


def mmpareto(gram):
    if not (gram < 0).any():
        return scaling(torch.ones(len(gram), dtype=torch.float64))
    weights = mgda(gram).diagonal()
    length = (weights @ gram @ weights).clamp(min=0).sqrt()
    return scaling(weights * gram.sum().clamp(min=0).sqrt() / length if length > 0 else weights)


def imtlg(gram):
    members, weights = active(gram), torch.zeros(len(gram), dtype=torch.float64)
    if members:
        norms = gram[members, members].sqrt()
        inner = gram[members][:, members] / norms / norms[:, None]
        part = torch.linalg.pinv(inner, hermitian=True).sum(-1) / norms
        weights[members] = part / part.sum().abs()
    return scaling(weights)


def nash(gram):
    """Coordinate by coordinate: w_t solves G_tt w^2 + b w = 1, until nothing moves."""
    members, weights = active(gram), torch.zeros(len(gram), dtype=torch.float64)
    if members:
        norms = gram[members, members].sqrt()
        inner = gram[members][:, members] / norms / norms[:, None]
        u = torch.ones(len(members), dtype=torch.float64)
        for _ in range(3000):
            before = u.clone()
            for t in range(len(u)):
                b = inner[t] @ u - u[t]
                u[t] = 2 / (b + (b**2 + 4).sqrt()) if b > 0 else (-b + (b**2 + 4).sqrt()) / 2
            if ((u - before).abs() < 1e-14 * u).all():
                break
        weights[members] = u / norms * (norms.square().sum() / (u @ inner @ u)).sqrt()
    return scaling(weights)


def aligned(gram):
    members = active(gram)
    mixing = torch.zeros_like(gram)
    if members:
        values, vectors = torch.linalg.eigh(gram[members][:, members])
        inner = vectors @ torch.diag((values[0] / values).sqrt()) @ vectors.T
        mixing[torch.tensor(members)[:, None], torch.tensor(members)] = inner
    return mixing


def upgrad(gram):
    """Project every gradient on the cone: the best face of its constraints, in units of the norms."""
    mixing, members = torch.zeros_like(gram), active(gram)
    norms = gram.diagonal().sqrt()
    for t in range(len(gram)):
        mixing[t, t] = 1.0
        if t not in members:
            continue
        x = _projection(gram[members][:, members] / norms[members] / norms[members, None], members.index(t))
        mixing[t, members] += x * norms[t] / norms[members]
    return mixing


def _projection(inner, t):
    best, found = torch.inf, torch.zeros(len(inner), dtype=torch.float64)
    for face in map(list, chain([()], faces(range(len(inner))))):
        x = torch.zeros_like(found)
        if face:
            x[face] = torch.linalg.lstsq(inner[face][:, face], -inner[face, t]).solution
        feasible = (x >= -1e-9).all() and (inner @ x + inner[t] >= -1e-9).all()
        length = x @ inner @ x
        if feasible and length < best:
            best, found = length, x
    return found


def pcgrad(gram):
    order = torch.rand(len(gram), generator=generator(), dtype=torch.float32).double().argsort(-1)
    mixing = torch.eye(len(gram), dtype=torch.float64)
    for t in range(len(gram)):
        for s in order.tolist():
            product = mixing[t] @ gram[:, s]
            if s != t and product < 0 and gram[s, s] > 0:
                mixing[t, s] -= product / gram[s, s]
    return mixing


def keep(votes, leak=0.0):
    """GradDrop's multipliers [T, m]."""
    kept = torch.ones_like(votes)
    numbers = torch.rand(1, votes.shape[-1], generator=generator(), dtype=torch.float32)[0].double()
    for feature in range(votes.shape[-1]):
        up, down = votes[:, feature].clamp(min=0).sum(), -votes[:, feature].clamp(max=0).sum()
        if up + down == 0:
            continue
        rises = up / (up + down) > numbers[feature]
        for t in range(len(votes)):
            follows = votes[t, feature] > 0 if rises else votes[t, feature] < 0
            kept[t, feature] = 1.0 if follows else leak
    return kept


def _library(method):
    def mixing(gram):
        made = method.mixing(gram) if hasattr(method, "mixing") else torch.diag(method.weights(gram))
        return made * (gram.diagonal() > 0).to(gram)[:, None]

    return mixing


NAIVE = {
    "sum": plain,
    "gradnorm": plain,  # in its first step
    "gradnorm-1": plain,
    "mgda": mgda,
    "imtlg": imtlg,
    "cagrad": _library(CAGrad()),
    "nash": nash,
    "fairgrad": _library(FairGrad()),
    "dbmtl": dbmtl,
    "mmpareto": mmpareto,
    "aligned": aligned,
    "upgrad": upgrad,
    "pcgrad": pcgrad,
}


def common_rows(rows, observed):
    """Inner products of rows [T, B, m] over the rows that both heads observe, as means times the number of rows."""
    heads, batch, _ = rows.shape
    gram = torch.zeros(heads, heads, dtype=torch.float64)
    for s in range(heads):
        for t in range(heads):
            both = [b for b in range(batch) if observed[b, s] and observed[b, t]]
            if both:
                gram[s, t] = sum(rows[s, b] @ rows[t, b] for b in both) * batch / len(both)
    values, vectors = torch.linalg.eigh(gram)
    heard = (gram.diagonal() > 0).double()
    return vectors @ torch.diag(values.clamp(min=0)) @ vectors.T * heard * heard[:, None]


def settled(names, rows, *, y=None, observed=None, preserve_norm=True):
    """The vector [B, m] that a block passes on for gradients [T, B, m] of features y [B, m], or of parameters."""
    flat = rows.flatten(1)
    gram = flat @ flat.T if observed is None else common_rows(rows, observed)
    mixing, mask = torch.eye(len(rows), dtype=torch.float64), None
    for name in names:
        if name == "graddrop":
            current = (mixing @ flat).reshape(rows.shape)
            mask = keep(current.flatten(1) if y is None else (current * y.sign()).sum(1))
        else:
            mixing = NAIVE[name](mixing @ gram @ mixing.T) @ mixing
    parts = (mixing @ flat).reshape(rows.shape)
    if mask is not None:
        parts = parts * (mask.reshape(rows.shape) if y is None else mask[:, None, :])
    total = parts.sum(0)
    size = parts.flatten(1).norm(dim=1).sum()
    if preserve_norm and total.norm() > 0:
        factor = flat.sum(0).norm() / total.norm()
        total, size = total * factor, size * factor
    return total, size
