// Owns what specs share and nothing else imports: real servers started for one spec file.
// Guarantees free ports on 127.0.0.1 and that what was started ends with the process.
export { freePort, startRedisServer, type RedisServer } from './redis-server.js';
