// Owns the tools that several specs share; no product code imports it: real servers for one spec file, ports in memory, and the
// contract suites that these and the real adapters pass alike.
// Guarantees free ports on 127.0.0.1, and that every server it starts ends with the process.
export { ClusterServers, type ClusterServer } from './cluster-servers.js';
export { idsOfEach } from './ids-of-shards.js';
export { describePartitionProgress } from './contracts/partition-progress.contract.js';
export { describePublisher } from './contracts/publisher.contract.js';
export { describeRetryQueue } from './contracts/retry-queue.contract.js';
export { describeRegistryLog } from './contracts/registry-log.contract.js';
export { describeSeenStore } from './contracts/seen-store.contract.js';
export { MemoryPartitionProgress } from './memory-partition-progress.js';
export { MemoryPublisher, type StoredRecord } from './memory-publisher.js';
export { MemoryReplays } from './memory-replays.js';
export { MemoryRegistryLog, memoryRegistry } from './memory-registry-log.js';
export { MemorySeenStore } from './memory-seen-store.js';
export { MemoryRetryQueue, MemoryState } from './memory-state.js';
export { freePort } from './free-port.js';
export { redisOfSpec, startRedisServer, type RedisServer } from './redis-server.js';
export { FORBIDDEN_HOSTS } from './forbidden-hosts.js';
export { moveSeenClock, seenGenerations } from './seen-clock.js';
export { aSigningKeyText } from './signing-key.js';
export { SpanCollector, type CollectedSpan } from './span-collector.js';
export { SmallDisk } from './small-disk.js';
export { TcpProxy } from './tcp-proxy.js';
