// Owns log lines, health, the metrics of the process itself and, if a collector is configured, spans. Guarantees that health
// shows the real state of the process, that secrets are redacted, that the log has at most 100 lines a second, and that a
// slow collector delays no delivery. Leaves health checks and further metrics to the apps, and the metrics of the stores to
// `metrics`.
export { Health, registerProcessMetrics, serveHealth } from './health.js';
export { Log, reasonOf, ThrottledLog, type LogFields } from './log.js';
export { openTracing } from './open-tracing.js';
export { nestLoggerOf, PinoLog } from './pino-log.adapter.js';
export { Tracing, type Span } from './tracing.port.js';
