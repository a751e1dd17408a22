"""Which SQL of a user's a worker runs: queries over what the task declares, and nothing else.

Spark's SQL is a shell. It starts programs, loads jars, takes a path for a table, calls any method
of the JVM, and what it creates is there for all tasks. A definition may come from anybody who may
register one. So Spark's own parser reads each text before it is run, and the whole tree is looked
at: operators, tables and functions are those of short lists, and what no list has is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from py4j.java_gateway import JavaObject, is_instance_of

from conductor_py.errors import ConductorError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: No path is a table, and no text of the environment comes into a statement.
SETTINGS: Final = MappingProxyType(
    {"spark.sql.runSQLOnFiles": "false", "spark.sql.variable.substitute": "false"}
)
"""What a session must have whose statements are judged."""

_MOST_PARTS: Final = 10_000
_CATALYST: Final = "org.apache.spark.sql.catalyst."
_VIEW: Final = "org.apache.spark.sql.execution.command.CreateViewCommand"
_RELATION: Final = f"{_CATALYST}analysis.UnresolvedRelation"
_FUNCTION: Final = f"{_CATALYST}analysis.UnresolvedFunction"
_TABLE_FUNCTION: Final = f"{_CATALYST}analysis.UnresolvedTableValuedFunction"
_GENERATOR: Final = f"{_CATALYST}analysis.UnresolvedGenerator"
_NAMED: Final = f"{_CATALYST}plans.logical.UnresolvedWith"
#: They hold nothing that could do anything, and there are many of them.
_LEAVES: Final = frozenset(
    (f"{_CATALYST}expressions.Literal", f"{_CATALYST}analysis.UnresolvedAttribute")
)
_OPERATORS: Final = frozenset(
    (
        *("Aggregate", "Distinct", "Except", "Filter", "Generate", "GlobalLimit", "Intersect"),
        *("Join", "JoinHint", "LateralJoin", "LocalLimit", "LocalRelation", "Offset"),
        *("OneRowRelation", "Pivot", "Project", "RepartitionByExpression", "Sample"),
        *("SampleMethod$Bernoulli", "SampleMethod$System", "Sort", "SubqueryAlias", "Union"),
        *("Unpivot", "UnresolvedHint", "UnresolvedWith", "WithWindowDefinition"),
    )
)
_UNRESOLVED: Final = frozenset(
    (
        *("MultiAlias", "UnresolvedAlias", "UnresolvedAttribute", "UnresolvedExtractValue"),
        *("UnresolvedFunction", "UnresolvedGenerator", "UnresolvedHaving"),
        *("UnresolvedInlineTable", "UnresolvedOrdinal", "UnresolvedRegex"),
        *("UnresolvedRelation", "UnresolvedStar", "UnresolvedStarExceptOrReplace"),
        *("UnresolvedSubqueryColumnAliases", "UnresolvedTVFAliases"),
        *("UnresolvedTableValuedFunction",),
    )
)
#: What the parser itself makes of this package computes a value from values; a function that is
#: called by its name comes as an UnresolvedFunction.
_EXPRESSION: Final = re.compile(r"expressions\.(?:aggregate\.|variant\.)?[A-Z]\w*\$?")
#: Kinds of joins, names and the like.
_WORD: Final = re.compile(r"(?:plans\.)?[A-Z]\w*\$?")
_VALUE: Final = re.compile(
    r"org\.apache\.spark\.(?:unsafe\.types|sql\.types|sql\.util\.CaseInsensitiveStringMap)\b.*"
)
_GROUPS: Final = frozenset(
    f"{name}_funcs"
    for name in (
        *("agg", "array", "bitwise", "collection", "conditional", "conversion", "csv", "datetime"),
        *("generator", "hash", "json", "lambda", "map", "math", "predicate", "sketch", "st"),
        *("string", "struct", "url", "variant", "vector", "window"),
    )
)
"""Groups of Spark's functions that compute a value from values, whatever Spark adds to them."""
_ALLOWED: Final = frozenset(
    (
        *("aes_decrypt", "aes_encrypt", "assert_true", "bitmap_bit_position"),
        *("bitmap_bucket_number", "bitmap_count", "case", "equal_null", "hmac"),
        *("input_file_block_length", "input_file_block_start", "input_file_name"),
        *("monotonically_increasing_id", "raise_error", "spark_partition_id", "to_xml"),
        *("try_aes_decrypt", "typeof", "uuid", "version", "xpath", "xpath_boolean"),
        *("xpath_double", "xpath_float", "xpath_int", "xpath_long", "xpath_number"),
        *("xpath_short", "xpath_string", "when", "||", "!=", "<>"),
    )
)
"""Functions of the other groups, among which are those that call methods and open files."""
_TABLE_FUNCTIONS: Final = frozenset(
    (
        *("explode", "explode_outer", "inline", "inline_outer", "json_tuple", "posexplode"),
        *("posexplode_outer", "range", "stack", "variant_explode", "variant_explode_outer"),
    )
)


class StatementRefused(ConductorError):
    """A statement is none that a task may run; the message says what in it is not."""

    code = "STATEMENT_REFUSED"


class Judge:
    """Reads statements as that session will, and refuses what is not allowed.

    ``refused`` names functions that are not allowed here, with the reason; those that are not
    when they are called without arguments have brackets behind their name.

    Every method raises ``StatementRefused``, and Spark's ``ParseException`` for what is no SQL.
    """

    def __init__(self, spark: SparkSession, refused: Mapping[str, str] | None = None) -> None:
        """Judge for that session, which has ``SETTINGS``."""
        self._gateway = spark.sparkContext._gateway  # noqa: SLF001 - PySpark's way to its JVM
        self._jvm: Any = spark._jvm  # noqa: SLF001
        self._parser: Any = spark._jsparkSession.sessionState().sqlParser()  # noqa: SLF001
        self._exact = spark.conf.get("spark.sql.caseSensitive") == "true"
        self._refused = refused or {}
        self._groups: dict[str, str | None] = {}

    def query(self, text: str, relations: Collection[str]) -> None:
        """Let a query pass that reads these relations."""
        self._look(self._parser.parsePlan(text), relations)

    def statement(self, text: str, relations: Collection[str]) -> str | None:
        """Let a query pass, or a temporary view of one, and return that view's name."""
        plan = self._parser.parsePlan(text)
        if _name(plan) != _VIEW:
            self._look(plan, relations)
            return None
        if plan.viewType().toString() != "LocalTempView" or not plan.properties().isEmpty():
            raise StatementRefused("only temporary views may be created, without properties.")
        self._look(plan.plan(), relations)
        return str(plan.name().table())

    def expression(self, text: str) -> None:
        """Let an expression pass; its subqueries read nothing."""
        self._look(self._parser.parseExpression(text), ())

    def _look(self, root: JavaObject, relations: Collection[str]) -> None:
        found = list(self._parts(root))
        known = {self._folded(name) for name in relations}
        known |= {
            self._folded(_item(each, 0))
            for name, node in found
            if name == _NAMED
            for each in _items(node.cteRelations())
        }
        for name, node in found:
            if name == _RELATION:
                parts = [str(each) for each in _items(node.multipartIdentifier())]
                if len(parts) != 1 or self._folded(parts[0]) not in known:
                    told = ", ".join(sorted(relations)) or "nothing"
                    raise StatementRefused(f"it reads {'.'.join(parts)}; there is {told} to read.")
            elif name == _FUNCTION:
                parts = [str(each) for each in _items(node.nameParts())]
                self._look_at_function(parts, bare=node.arguments().isEmpty())
            elif name == _GENERATOR:
                told = node.name()
                self._look_at_function(str(told.unquotedString()).split("."))
            elif name == _TABLE_FUNCTION:
                parts = [str(each).lower() for each in _items(node.name())]
                if len(parts) != 1 or parts[0] not in _TABLE_FUNCTIONS:
                    raise StatementRefused(f"it calls the table function {'.'.join(parts)}.")

    def _look_at_function(self, parts: list[str], *, bare: bool = False) -> None:
        called = ".".join(parts)
        name = called.lower()
        if len(parts) != 1:
            raise StatementRefused(f"it calls {called}; a function has a name without dots.")
        if why := self._refused.get(name) or (bare and self._refused.get(f"{name}()")):
            raise StatementRefused(f"it calls {called}: {why}.")
        group = self._group(name)
        if name not in _ALLOWED and group not in _GROUPS:
            why = "no function of Spark's" if group is None else "no function for queries"
            raise StatementRefused(f"it calls {called}, which is {why}.")

    def _group(self, name: str) -> str | None:
        """Return what group of functions Spark counts it to; None for none of its own."""
        if name not in self._groups:
            catalyst = self._jvm.org.apache.spark.sql.catalyst
            found = catalyst.analysis.FunctionRegistry.builtin().lookupFunction(
                catalyst.FunctionIdentifier(name)
            )
            self._groups[name] = str(found.get().getGroup()) if found.isDefined() else None
        return self._groups[name]

    def _folded(self, name: str) -> str:
        return str(name) if self._exact else str(name).lower()

    def _parts(self, root: JavaObject) -> Iterator[tuple[str, Any]]:
        """List all that a tree is made of, by class, whatever holds it: subqueries, options, pairs.

        Raises ``StatementRefused`` at what no query has.
        """
        waiting, seen = [root], 0
        while waiting:
            node = waiting.pop()
            if not isinstance(node, JavaObject):
                continue
            seen += 1
            if seen > _MOST_PARTS:
                raise StatementRefused(f"it has more than {_MOST_PARTS:,} parts.")
            name = _name(node)
            if name.startswith("org.apache.spark."):
                _refuse_other_than_queries(name)
                yield name, node
            if name in _LEAVES or _VALUE.fullmatch(name):
                continue
            if name.startswith("scala.collection."):
                waiting.extend(_items(node))
            elif is_instance_of(self._gateway, node, "scala.Product"):
                waiting.extend(_item(node, at) for at in range(node.productArity()))


def quoted(name: str) -> str:
    """Return a name as SQL takes it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def _refuse_other_than_queries(name: str) -> None:
    if _VALUE.fullmatch(name):
        return
    within, _, short = name.removeprefix(_CATALYST).rpartition(".")
    if name.startswith(_CATALYST) and (
        (within == "plans.logical" and short.removesuffix("$") in _OPERATORS)
        or (within == "analysis" and short in _UNRESOLVED)
        or _EXPRESSION.fullmatch(f"{within}.{short}")
        or (within in {"", "plans"} and _WORD.fullmatch(short))
    ):
        return
    raise StatementRefused(f"{short.removesuffix('$')} is no part of a query.")


def _name(node: Any) -> str:  # noqa: ANN401 - an object of the JVM
    return str(node.getClass().getName())


def _items(sequence: Any) -> list[Any]:  # noqa: ANN401 - an object of the JVM
    iterator = sequence.iterator()
    found = []
    while iterator.hasNext():
        found.append(iterator.next())
    return found


def _item(product: Any, at: int) -> Any:  # noqa: ANN401 - an object of the JVM
    return product.productElement(at)
