"""Composition root: opens stores, assembles brokers and compactors, and supervises processes.

The only package that names concrete adapters.

stores, object_store, cloud_storage, catalog   the stores and the table catalog that the settings describe
store_urls, errors                             checks of stores and packages before use, and startup errors
broker, serving, stopping                      assembly of a broker; running it; graceful shutdown
slow_start, sweeps, leaving                    log events of a slow start; sweeps; departure from the cluster
compactor, compactor_process, compaction_loop  assembly of a compactor; as a child process; its passes
supervisor                                     several brokers and a compactor as child processes
metadata_backups, continuous_backups           backups of the metadata, by commands and by brokers
supersession                                   the check for restores that supersede the metadata store
access, table_query, check_query               stores, tables and checks of a cluster without a broker
table_files                                    metadata files of tables in Google Cloud Storage and Azure
spark_source                                   the data source that Spark finds
"""
