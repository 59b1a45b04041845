// Owns what a process tells its operator: log lines, health, metrics and, where a collector is configured, spans. Guarantees
// that health speaks of the state the process is really in, that secrets are redacted, that nothing floods the log (at most
// 100 lines a second), and that a collector harms nothing. Leaves to the apps which checks and series there are.
export { Health, type HealthCheck } from './health.js';
export { serveHealth } from './health-server.adapter.js';
export { Log, reasonOf, type LogFields } from './log.js';
export { openTracing } from './open-tracing.js';
export { nestLoggerOf, PinoLog } from './pino-log.adapter.js';
export { registerProcessMetrics } from './process-metrics.js';
export { ThrottledLog } from './throttled-log.js';
export { Tracing, type Span, type SpanAttributes, type SpanKind } from './tracing.port.js';
