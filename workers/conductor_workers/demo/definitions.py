"""The tutorial's workflow, inline with its task definitions: nothing has to be registered.

Load and check in parallel, grade what was loaded, then either join in parallel or end as FAILED.
"""

from __future__ import annotations

from pathlib import Path

from conductor_py.model.json import JsonObject, JsonValue

_CSV: JsonObject = {"header": True, "nullValue": "NA"}
_FLIGHTS = (
    "year int, month int, day int, dep_time int, sched_dep_time int, dep_delay double, "
    "arr_time int, sched_arr_time int, arr_delay double, carrier string, flight int, "
    "tailnum string, origin string, dest string, air_time double, distance double, hour int, "
    "minute int, time_hour timestamp"
)
_WEATHER = (
    "origin string, year int, month int, day int, hour int, temp double, dewp double, "
    "humid double, wind_dir double, wind_speed double, wind_gust double, precip double, "
    "pressure double, visib double, time_hour timestamp"
)
_PLANES = (
    "tailnum string, year int, type string, manufacturer string, model string, engines int, "
    "seats int, speed int, engine string"
)
_AIRPORTS = (
    "faa string, name string, lat double, lon double, alt int, tz int, dst string, tzone string"
)
_GRADE = """
(function () {
  var whole = $.flights >= 300000 && $.airlines > 0 && $.planes > 0 && $.weather > 0;
  var sound = $.withKeys >= 0.999 && $.withDelay >= 0.9;
  return whole && sound ? 'good' : 'bad';
})()
"""
_SUMMARY = """
(function () {
  var rows = $.carriers;
  return {latest: rows[0], earliest: rows[rows.length - 1], airlines: rows.length};
})()
"""
_BY_CARRIER = """
SELECT a.name AS airline, round(avg(f.arr_delay), 2) AS mean_arrival_delay, count(*) AS flights
FROM flights f JOIN airlines a ON f.carrier = a.carrier
GROUP BY a.name ORDER BY mean_arrival_delay DESC, airline
"""
_BY_WEATHER = """
SELECT CASE WHEN w.visib < 2 THEN 'fog' WHEN w.precip > 0 THEN 'rain or snow'
            WHEN w.wind_speed >= 20 THEN 'strong wind' ELSE 'fair' END AS weather,
       round(avg(f.arr_delay), 2) AS mean_arrival_delay, count(*) AS flights
FROM flights f JOIN weather w ON f.origin = w.origin AND f.time_hour = w.time_hour
GROUP BY 1 ORDER BY mean_arrival_delay DESC, weather
"""
_BY_AGE = """
SELECT CASE WHEN 2013 - p.year < 5 THEN '0-4 years' WHEN 2013 - p.year < 10 THEN '5-9 years'
            WHEN 2013 - p.year < 20 THEN '10-19 years' ELSE '20 years and more' END AS age,
       round(avg(f.arr_delay), 2) AS mean_arrival_delay, count(*) AS flights
FROM flights f JOIN planes p ON f.tailnum = p.tailnum
WHERE p.year IS NOT NULL
GROUP BY 1 ORDER BY min(2013 - p.year)
"""
#: The result tables, in the order in which they are shown.
RESULTS = ("by_carrier", "by_weather", "by_plane_age")


def workflow_definition() -> JsonObject:
    """Return the workflow; its input names the directories ``data``, ``lake`` and ``results``."""
    return {
        "name": "flights_tutorial",
        "description": "Arrival delays of the flights that left New York in 2013.",
        "version": 1,
        "schemaVersion": 2,
        "ownerEmail": "tutorial@example.com",
        "inputParameters": ["data", "lake", "results"],
        "timeoutPolicy": "TIME_OUT_WF",
        "timeoutSeconds": 600,
        "tasks": [*_load_and_check(), _grade(), _switch()],
        "outputParameters": {
            "grade": "${grade.output.result}",
            "summary": "${summary.output.result}",
        },
    }


def workflow_input(run_dir: Path) -> JsonObject:
    """Return the input for a run below that directory."""
    return {name: str(run_dir / name) for name in ("data", "lake", "results")}


def _load_and_check() -> list[JsonValue]:
    flights = _load(
        "flights",
        _FLIGHTS,
        "SELECT carrier, tailnum, origin, dest, time_hour, arr_delay FROM flights",
        {
            "withKeys": "SELECT avg(CAST(carrier IS NOT NULL AND origin IS NOT NULL "
            "AND dest IS NOT NULL AND time_hour IS NOT NULL AS int)) FROM result",
            "withDelay": "SELECT avg(CAST(arr_delay IS NOT NULL AS int)) FROM result",
        },
    )
    weather = _load(
        "weather",
        _WEATHER,
        "SELECT origin, time_hour, visib, precip, wind_speed FROM weather",
        {"hours": "SELECT count(DISTINCT origin, time_hour) FROM result"},
    )
    airlines = _load("airlines", "carrier string, name string", "SELECT * FROM airlines")
    planes = _load("planes", _PLANES, "SELECT tailnum, year, model, seats FROM planes")
    airports = _load("airports", _AIRPORTS, "SELECT * FROM airports")
    return [
        {
            "name": "load_and_check",
            "taskReferenceName": "load_and_check",
            "type": "FORK_JOIN",
            "forkTasks": [[flights], [airlines, planes, airports], [weather]],
        },
        _join("loaded", ["load_flights", "load_airports", "load_weather"]),
    ]


def _load(table: str, schema: str, sql: str, metrics: JsonObject | None = None) -> JsonObject:
    return _spark_sql(
        f"load_{table}",
        {
            "inputs": {
                table: {
                    "format": "csv",
                    "path": f"${{workflow.input.data}}/{table}.csv",
                    "options": _CSV,
                    "schema": schema,
                }
            },
            "sql": sql,
            "output": {
                "path": f"${{workflow.input.lake}}/{table}",
                "format": "parquet",
                "mode": "overwrite",
            },
            "metrics": metrics or {},
        },
    )


def _grade() -> JsonObject:
    return {
        "name": "grade",
        "taskReferenceName": "grade",
        "type": "INLINE",
        "inputParameters": {
            "evaluatorType": "javascript",
            "expression": _GRADE,
            "flights": "${load_flights.output.rowCount}",
            "airlines": "${load_airlines.output.rowCount}",
            "planes": "${load_planes.output.rowCount}",
            "weather": "${load_weather.output.rowCount}",
            "withKeys": "${load_flights.output.metrics.withKeys}",
            "withDelay": "${load_flights.output.metrics.withDelay}",
        },
    }


def _switch() -> JsonObject:
    refused: JsonObject = {
        "name": "refuse",
        "taskReferenceName": "refuse",
        "type": "TERMINATE",
        "inputParameters": {
            "terminationStatus": "FAILED",
            "terminationReason": "The data is not good enough: "
            "${load_flights.output.rowCount} flights were loaded.",
        },
    }
    return {
        "name": "good_enough",
        "taskReferenceName": "good_enough",
        "type": "SWITCH",
        "evaluatorType": "value-param",
        "expression": "grade",
        "inputParameters": {"grade": "${grade.output.result}"},
        "decisionCases": {"good": _analyse()},
        "defaultCase": [refused],
    }


def _analyse() -> list[JsonValue]:
    queries = {
        "by_carrier": (_BY_CARRIER, ("flights", "airlines")),
        "by_weather": (_BY_WEATHER, ("flights", "weather")),
        "by_plane_age": (_BY_AGE, ("flights", "planes")),
    }
    return [
        {
            "name": "analyse",
            "taskReferenceName": "analyse",
            "type": "FORK_JOIN",
            "forkTasks": [[_delays(name, *queries[name])] for name in RESULTS],
        },
        _join("analysed", list(RESULTS)),
        {
            "name": "summary",
            "taskReferenceName": "summary",
            "type": "INLINE",
            "inputParameters": {
                "evaluatorType": "javascript",
                "expression": _SUMMARY,
                "carriers": "${by_carrier.output.rows}",
            },
        },
    ]


def _delays(name: str, sql: str, tables: tuple[str, ...]) -> JsonObject:
    return _spark_sql(
        name,
        {
            "inputs": {
                table: {"format": "parquet", "path": f"${{workflow.input.lake}}/{table}"}
                for table in tables
            },
            "sql": sql,
            "output": {
                "path": f"${{workflow.input.results}}/{name}",
                "format": "csv",
                "mode": "overwrite",
                "coalesce": 1,
                "options": {"header": True},
            },
            "collect": 20,
        },
    )


def _join(name: str, references: list[str]) -> JsonObject:
    return {"name": name, "taskReferenceName": name, "type": "JOIN", "joinOn": references}


def _spark_sql(reference: str, parameters: JsonObject) -> JsonObject:
    return {
        "name": "SPARK_SQL",
        "taskReferenceName": reference,
        "type": "SIMPLE",
        "inputParameters": parameters,
        "taskDefinition": {
            "name": "SPARK_SQL",
            "ownerEmail": "tutorial@example.com",
            "retryCount": 2,
            "retryLogic": "FIXED",
            "retryDelaySeconds": 1,
            "timeoutPolicy": "RETRY",
            "timeoutSeconds": 300,
            "responseTimeoutSeconds": 120,
        },
    }
