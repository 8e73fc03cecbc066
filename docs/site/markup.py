"""What Markdown does not know: formulas as GitHub and docstrings write them, and examples in docstrings."""

from __future__ import annotations

import re
from html import escape

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor

GITHUB_BLOCK = re.compile(r"^```math\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPHINX_BLOCK = re.compile(r"^( *)\.\. math::(.*(?:\n\1 +\S.*)*)$", re.MULTILINE)
INLINE = re.compile(r"\$`([^`]+)`\$|:math:`([^`]+)`")
DOCTEST = re.compile(r"^( *)>>> .*(?:\n\1\S.*)*", re.MULTILINE)


class Markup(Extension):
    """Formulas are put away before Markdown reads them, for KaTeX to draw; examples become blocks of code."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Called by Markdown. 29: after it has tidied blanks (30), before it reads fences (25)."""
        md.preprocessors.register(_Preprocessor(md), "markup", 29)


class _Preprocessor(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        text = "\n".join(lines)
        text = GITHUB_BLOCK.sub(lambda found: self._block(found[1]), text)
        text = SPHINX_BLOCK.sub(lambda found: self._block(found[2]), text)
        text = INLINE.sub(lambda found: self._element("span", found[1] or found[2]), text)
        text = DOCTEST.sub(r"\1```pycon\n\g<0>\n\1```", text)
        return text.split("\n")

    def _block(self, formula: str) -> str:
        return f"\n{self._element('div', formula)}\n"

    def _element(self, tag: str, formula: str) -> str:
        tex = escape(" ".join(formula.split()))
        return self.md.htmlStash.store(f'<{tag} class="formula">{tex}</{tag}>')
