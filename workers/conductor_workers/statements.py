"""Which SQL of a user's a worker runs: queries over what the task declares, and nothing else.

Spark's SQL is a shell. It starts programs, loads jars, takes a path for a table, calls any method
of the JVM, and what it creates is there for all tasks. A definition may come from anybody who may
register one. So Spark's own parser reads each text before it is run, and the whole tree is looked
at: operators, tables and functions are those of short lists, and what no list has is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from py4j.java_gateway import JavaObject, is_instance_of
from py4j.protocol import Py4JJavaError

from conductor_py.errors import ConductorError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: No path is a table, and no text of the environment comes into a statement.
SETTINGS: Final = MappingProxyType(
    {"spark.sql.runSQLOnFiles": "false", "spark.sql.variable.substitute": "false"}
)
"""What a session must have whose statements are judged, and the worker's first session with it."""

_MOST_PARTS: Final = 20_000
_CATALYST: Final = "org.apache.spark.sql.catalyst."
_VIEW: Final = "org.apache.spark.sql.execution.command.CreateViewCommand"
_RELATION: Final = f"{_CATALYST}analysis.UnresolvedRelation"
_FUNCTION: Final = f"{_CATALYST}analysis.UnresolvedFunction"
_TABLE_FUNCTION: Final = f"{_CATALYST}analysis.UnresolvedTableValuedFunction"
_GENERATOR: Final = f"{_CATALYST}analysis.UnresolvedGenerator"
_WITH: Final = f"{_CATALYST}plans.logical.UnresolvedWith"
_CAST: Final = f"{_CATALYST}expressions.Cast"
_LITERAL: Final = f"{_CATALYST}expressions.Literal"
#: They hold nothing that could do anything, and there are many of them.
_LEAVES: Final = frozenset((_LITERAL, f"{_CATALYST}analysis.UnresolvedAttribute"))
_OPERATORS: Final = frozenset(
    (
        *("Aggregate", "Distinct", "Except", "Filter", "Generate", "GlobalLimit", "Intersect"),
        *("Join", "JoinHint", "LateralJoin", "LimitAll", "LocalLimit", "LocalRelation", "Offset"),
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
        *("UnresolvedTableValuedFunction", "UnresolvedQualify"),
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
        *("bitmap_bucket_number", "bitmap_count", "current_catalog", "current_database"),
        *("current_schema", "current_user", "hmac", "input_file_block_length"),
        *("input_file_block_start", "input_file_name", "monotonically_increasing_id"),
        *("raise_error", "session_user", "spark_partition_id", "try_aes_decrypt", "typeof"),
        *("user", "uuid", "version", "case", "||", "!=", "<>"),
    )
)
"""Functions of the other groups, among which are those that call methods, open files, load what a
text of XML names, and tell settings of the JVM.
"""
_TABLE_FUNCTIONS: Final = frozenset(
    (
        *("explode", "explode_outer", "inline", "inline_outer", "json_tuple", "posexplode"),
        *("posexplode_outer", "range", "stack", "variant_explode", "variant_explode_outer"),
    )
)


def own_session(spark: SparkSession, *, any_sql: bool) -> SparkSession:
    """Make a session for a task: for statements that are judged, or for any."""
    own = spark.newSession()
    for key, value in SETTINGS.items():
        own.conf.set(key, "true" if any_sql else value)
    return own


class StatementRefused(ConductorError):
    """A statement is none that a task may run; the message says what in it is not."""

    code = "STATEMENT_REFUSED"


class Judge:
    """Reads statements as that session will, and refuses what is not allowed.

    ``refused`` names functions that are not allowed here, with the reason: with brackets behind the
    name when they are called without arguments, and in quotes texts that are cast.

    Every method raises ``StatementRefused``, and Spark's ``ParseException`` for what is no SQL.
    """

    def __init__(
        self,
        spark: SparkSession,
        refused: Mapping[str, str] | None = None,
        *,
        most_parts: int = _MOST_PARTS,
    ) -> None:
        """Judge for that session, which has ``SETTINGS``, trees of so many parts at most."""
        self._gateway = spark.sparkContext._gateway  # noqa: SLF001 - PySpark's way to its JVM
        self._jvm: Any = spark._jvm  # noqa: SLF001
        self._session: Any = spark._jsparkSession  # noqa: SLF001
        self._exact = spark.conf.get("spark.sql.caseSensitive") == "true"
        self._refused = refused or {}
        self._most_parts = most_parts
        self._relations: Collection[str] = ()
        self._seen = 0
        self._groups: dict[str, str | None] = {}
        self._arities: dict[str, int] = {}

    def query(self, text: str, relations: Collection[str]) -> None:
        """Let a query pass that reads these relations."""
        self._judge(self._parsed("parsePlan", text), relations)

    def statement(self, text: str, relations: Collection[str]) -> str | None:
        """Let a query pass, or a temporary view of one, and return that view's name."""
        plan = self._parsed("parsePlan", text)
        if _name(plan) != _VIEW:
            self._judge(plan, relations)
            return None
        if plan.viewType().toString() != "LocalTempView" or not plan.properties().isEmpty():
            raise StatementRefused("only temporary views may be created, without properties.")
        name = str(plan.name().table())
        if self._folded(name) in self._all_folded(relations):
            raise StatementRefused(f"there is {name} already; give the view another name.")
        self._judge(plan.plan(), relations)
        return name

    def expression(self, text: str) -> None:
        """Let an expression pass; its subqueries read nothing."""
        self._judge(self._parsed("parseExpression", text), ())

    def _parsed(self, how: str, text: str) -> Any:  # noqa: ANN401 - an object of the JVM
        """Parse with this session's settings: those of the thread's active session are what counts,
        here as when the text is run.
        """
        sessions = self._jvm.org.apache.spark.sql.classic.SparkSession
        before = sessions.getActiveSession()
        sessions.setActiveSession(self._session)
        try:
            return getattr(self._session.sessionState().sqlParser(), how)(text)
        except Py4JJavaError as error:
            if _name(error.java_exception) == "java.lang.StackOverflowError":
                raise StatementRefused("it is nested too deeply.") from error
            raise
        finally:
            if before.isDefined():
                sessions.setActiveSession(before.get())
            else:
                sessions.clearActiveSession()

    def _judge(self, root: Any, relations: Collection[str]) -> None:  # noqa: ANN401 - of the JVM
        self._relations, self._seen = relations, 0
        scope = self._all_folded(relations)
        waiting = [(root, scope)]
        while waiting:
            node, scope = waiting.pop()
            if isinstance(node, JavaObject):
                waiting.extend(self._looked_at(node, scope))

    def _looked_at(self, node: Any, scope: frozenset[str]) -> Iterator[tuple[Any, frozenset[str]]]:  # noqa: ANN401
        """Judge one part of a tree, and return what it is made of, whatever holds it (options,
        pairs, subqueries), with the names that can be read there.
        """
        name = _name(node)
        if name.startswith("org.apache.spark."):
            _refuse_other_than_queries(name)
            self._look(name, node, scope)
        if name in _LEAVES or name.endswith("$") or _VALUE.fullmatch(name):
            return
        self._seen += 1
        if self._seen > self._most_parts:
            raise StatementRefused(f"it has more than {self._most_parts:,} parts.")
        if name == _WITH:
            yield from self._scoped(node, scope)
        elif name.startswith("scala.collection."):
            yield from ((each, scope) for each in _items(node))
        else:
            yield from ((node.productElement(at), scope) for at in range(self._arity(name, node)))

    def _scoped(self, node: Any, scope: frozenset[str]) -> Iterator[tuple[Any, frozenset[str]]]:  # noqa: ANN401
        """Return the parts of a WITH: a name can be read behind its definition, and in it only when
        it is recursive.
        """
        for each in _items(node.cteRelations()):
            inner = scope | {self._folded(each.productElement(0))}
            yield each, inner if node.allowRecursion() else scope
            scope = inner
        yield node.child(), scope

    def _arity(self, name: str, node: Any) -> int:  # noqa: ANN401 - an object of the JVM
        if name not in self._arities:
            product = is_instance_of(self._gateway, node, "scala.Product")
            self._arities[name] = int(node.productArity()) if product else 0
        return self._arities[name]

    def _look(self, name: str, node: Any, scope: frozenset[str]) -> None:  # noqa: ANN401
        if name == _RELATION:
            parts = [str(each) for each in _items(node.multipartIdentifier())]
            if len(parts) != 1 or self._folded(parts[0]) not in scope:
                told = ", ".join(sorted(self._relations)) or "nothing"
                raise StatementRefused(f"it reads {'.'.join(parts)}; there is {told} to read.")
            if not node.options().isEmpty():
                raise StatementRefused(f"it reads {parts[0]} with options.")
        elif name == _FUNCTION:
            parts = [str(each) for each in _items(node.nameParts())]
            self._look_at_function(parts, bare=node.arguments().isEmpty())
        elif name == _CAST and _name(node.child()) == _LITERAL:
            word = str(node.child().value()).strip().lower()
            if why := self._refused.get(f"'{word}'"):
                raise StatementRefused(f"it casts '{word}': {why}.")
        elif name == _GENERATOR:
            self._look_at_function(str(node.name().unquotedString()).split("."))
        elif name == _TABLE_FUNCTION:
            parts = [str(each).lower() for each in _items(node.name())]
            if len(parts) != 1 or parts[0] not in _TABLE_FUNCTIONS:
                raise StatementRefused(f"it calls the table function {'.'.join(parts)}.")

    def _look_at_function(self, parts: list[str], *, bare: bool = False) -> None:
        called = ".".join(parts)
        *where, name = (part.lower() for part in parts)
        if where not in ([], ["builtin"], ["system", "builtin"]):
            raise StatementRefused(f"it calls {called}, which is no function of Spark's.")
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

    def _all_folded(self, names: Collection[str]) -> frozenset[str]:
        return frozenset(map(self._folded, names))

    def _folded(self, name: str) -> str:
        return str(name) if self._exact else str(name).lower()


def quoted(name: str) -> str:
    """Return a name as SQL takes it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def folding(spark: SparkSession) -> Callable[[str], str]:
    """Return what makes of names of one column one name, as a session tells columns apart."""
    return str if spark.conf.get("spark.sql.caseSensitive") == "true" else str.lower


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
