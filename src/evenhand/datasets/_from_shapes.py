"""What data sets have in common whose networks are made from shapes."""


def check_one_layer(n_layers: int) -> None:
    """Refuse a number of layers: networks that are made from shapes have their own."""
    if n_layers != 1:
        raise ValueError(f"n_layers should be 1, since networks are made from shapes here. Found {n_layers}.")
