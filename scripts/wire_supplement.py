"""Details of Kafka 4.3's schemas that kio's lack: ignorable fields, and arrays that are null by default.

The key is a message, or a struct of a message.
"""

from collections.abc import Mapping
from typing import Final

# kio knows this default for all types but arrays of structs.
NULL_BY_DEFAULT: Final[Mapping[str, str]] = {
    "ListPartitionReassignmentsRequest": "topics",
    "ConsumerGroupHeartbeatRequest": "topic_partitions",
    "StreamsGroupHeartbeatRequest": (
        "active_tasks standby_tasks warmup_tasks client_tags task_offsets task_end_offsets"
    ),
    "StreamsGroupHeartbeatResponse": "active_tasks standby_tasks warmup_tasks partitions_by_user_endpoint",
    "StreamsGroupDescribeResponse.Topology": "subtopologies",
}

# Omitted in versions that lack them. All other fields must have their default value in such a version.
IGNORABLE: Final[Mapping[str, str]] = {
    "ProduceRequest.TopicProduceData": "name topic_id",
    "ProduceResponse.TopicProduceResponse": "name topic_id",
    "ProduceResponse.PartitionProduceResponse": "log_start_offset record_errors error_message",
    "FetchRequest": "cluster_id session_id session_epoch rack_id",
    "FetchRequest.FetchTopic": "topic topic_id",
    "FetchRequest.FetchPartition": (
        "current_leader_epoch log_start_offset replica_directory_id high_watermark"
    ),
    "FetchRequest.ForgottenTopic": "topic topic_id",
    "FetchResponse": "error_code",
    "FetchResponse.FetchableTopicResponse": "topic topic_id",
    "FetchResponse.PartitionData": "log_start_offset",
    "ListOffsetsRequest.ListOffsetsPartition": "current_leader_epoch",
    "ListOffsetsRequest": "timeout_ms",
    "ListOffsetsResponse": "throttle_time_ms",
    "MetadataRequest.MetadataRequestTopic": "topic_id",
    "MetadataResponse": "throttle_time_ms cluster_id controller_id error_code",
    "MetadataResponse.MetadataResponseBroker": "rack",
    "MetadataResponse.MetadataResponseTopic": "topic_id is_internal",
    "MetadataResponse.MetadataResponsePartition": "leader_epoch offline_replicas",
    "OffsetCommitRequest": "retention_time_ms",
    "OffsetCommitRequest.OffsetCommitRequestTopic": "name topic_id",
    "OffsetCommitRequest.OffsetCommitRequestPartition": "committed_leader_epoch",
    "OffsetCommitResponse": "throttle_time_ms",
    "OffsetCommitResponse.OffsetCommitResponseTopic": "name topic_id",
    "OffsetFetchRequest.OffsetFetchRequestGroup": "member_id member_epoch",
    "OffsetFetchRequest.OffsetFetchRequestTopics": "name topic_id",
    "OffsetFetchResponse": "throttle_time_ms error_code",
    "OffsetFetchResponse.OffsetFetchResponsePartition": "committed_leader_epoch",
    "OffsetFetchResponse.OffsetFetchResponseTopics": "name topic_id",
    "FindCoordinatorResponse": "throttle_time_ms error_message",
    "JoinGroupRequest": "rebalance_timeout_ms reason",
    "JoinGroupResponse": "throttle_time_ms protocol_type",
    "JoinGroupResponse.JoinGroupResponseMember": "group_instance_id",
    "HeartbeatResponse": "throttle_time_ms",
    "LeaveGroupRequest.MemberIdentity": "reason",
    "LeaveGroupResponse": "throttle_time_ms",
    "SyncGroupRequest": "protocol_type protocol_name",
    "SyncGroupResponse": "throttle_time_ms protocol_type protocol_name",
    "DescribeGroupsResponse": "throttle_time_ms",
    "DescribeGroupsResponse.DescribedGroupMember": "group_instance_id",
    "ListGroupsResponse": "throttle_time_ms",
    "ListGroupsResponse.ListedGroup": "group_state group_type",
    "ApiVersionsRequest": "client_software_name client_software_version",
    "ApiVersionsResponse": (
        "throttle_time_ms supported_features finalized_features_epoch finalized_features zk_migration_ready"
    ),
    "CreateTopicsResponse.CreatableTopicResult": (
        "topic_id topic_config_error_code num_partitions replication_factor configs"
    ),
    "DeleteTopicsRequest": "topic_names",
    "DeleteTopicsResponse.DeletableTopicResult": "topic_id error_message",
    "OffsetForLeaderEpochRequest": "replica_id",
    "AddPartitionsToTxnResponse": "error_code",
    "EndTxnResponse": "producer_id producer_epoch",
    "WriteTxnMarkersRequest.WritableTxnMarker": "transaction_version",
    "TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition": "committed_leader_epoch",
    "DescribeConfigsResponse.DescribeConfigsResourceResult": "config_type documentation",
    "DescribeLogDirsResponse": "error_code",
    "DescribeLogDirsResponse.DescribeLogDirsResult": "total_bytes usable_bytes is_cordoned",
    "SaslAuthenticateResponse": "session_lifetime_ms",
    "AlterPartitionReassignmentsResponse": "allow_replication_factor_change",
    "DescribeQuorumResponse": "error_message",
    "DescribeQuorumResponse.PartitionData": "error_message",
    "DescribeQuorumResponse.ReplicaState": "last_fetch_timestamp last_caught_up_timestamp",
    "UpdateFeaturesResponse": "results",
    "ConsumerGroupDescribeResponse.Member": "member_type",
    "ListConfigResourcesResponse.ConfigResource": "resource_type",
    "ShareFetchRequest": "share_acquire_mode",
    "ShareAcknowledgeResponse": "acquisition_lock_timeout_ms",
    "DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition": "lag",
}
