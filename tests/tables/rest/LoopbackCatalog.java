import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;

/** Apache Iceberg's REST catalog on 127.0.0.1 only: its own main class listens on every address. */
public class LoopbackCatalog {
  /**
   * Arguments: the SQLite file, the warehouse, and further properties of the catalog as NAME=VALUE. Writes
   * the port that the system has chosen, then serves.
   */
  public static void main(String[] arguments) throws Exception {
    Map<String, String> properties = new HashMap<>(Map.of(
        "uri", "jdbc:sqlite:" + arguments[0],
        "warehouse", arguments[1],
        "io-impl", "org.apache.iceberg.hadoop.HadoopFileIO",
        "jdbc.schema-version", "V1"));
    for (int number = 2; number < arguments.length; number++) {
      String[] pair = arguments[number].split("=", 2);
      properties.put(pair[0], pair[1]);
    }
    JdbcCatalog catalog = new JdbcCatalog();
    catalog.initialize("rest", properties);
    ServletContextHandler context = new ServletContextHandler();
    context.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
    Server server = new Server(new InetSocketAddress("127.0.0.1", Integer.getInteger("port", 0)));
    server.setHandler(context);
    server.start();
    System.out.println(server.getURI().getPort());
    server.join();
  }
}
