"""Work out a closed form by name, as the page of published figures does.

`python -m tools.laws 'buffers.dynamic_threshold(18*10**6, Fraction(1, 8), 1)'` calls a function of
`ctestbed.transport.laws` (or of `ctestbed.core.headroom`, as `headroom`) and prints its value;
`--format json` prints `{"value": ...}`, a ratio as `a/b`.
"""

import ast
import importlib
import json
import operator
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

_MODULES: Final = {
    "headroom": "ctestbed.core.headroom",
    **{
        name: f"ctestbed.transport.laws.{name}"
        for name in (
            "balance", "buffers", "crossing", "longhaul", "packet", "reliability",
        )
    },
}  # fmt: skip
_OPERATORS: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda one, other: Fraction(one) / other if isinstance(one, int) else one / other,
    ast.Pow: operator.pow,
}


def evaluate_law(text: str) -> Any:
    """Return the value of arithmetic on calls of laws; numbers with a point are exact.

    Raises:
        ValueError: it is anything else.
    """

    def value(node: ast.expr) -> Any:  # noqa: PLR0911 - one return per form
        match node:
            case ast.Constant(bool() | str() | bytes() | None):
                pass
            case ast.Constant(int() as number):
                return number
            case ast.Constant(float()):
                return Fraction(ast.get_source_segment(text, node) or "")
            case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](value(left), value(right))
            case ast.List(items):
                return [value(item) for item in items]
            case ast.Tuple(items):
                return tuple(value(item) for item in items)
            case ast.Call(function, arguments, keywords):
                named = {word.arg: value(word.value) for word in keywords if word.arg}
                return _find(function)(*map(value, arguments), **named)
            case ast.Attribute(inner, name) if not name.startswith("_"):
                return getattr(value(inner), name)
        raise ValueError(f"not a law: {ast.unparse(node)}")

    return value(ast.parse(text, mode="eval").body)


def _find(node: ast.expr) -> Callable[..., Any]:
    match node:
        case ast.Name("Fraction"):
            return Fraction
        case ast.Name("float"):
            return float
        case ast.Attribute(ast.Name(module), name) if module in _MODULES and name[0] != "_":
            found: Callable[..., Any] = getattr(importlib.import_module(_MODULES[module]), name)
            return found
    raise ValueError(f"no law is called {ast.unparse(node)}")


def main(arguments: list[str]) -> int:
    """Print the value of a law."""
    text, *options = arguments
    found = evaluate_law(text)
    exact = Fraction(found)
    print(json.dumps({"value": str(exact)}) if options == ["--format", "json"] else found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
