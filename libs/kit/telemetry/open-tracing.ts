import type { TelemetryEnv } from '@relay/config';
import type { Log } from './log.js';
import type { Tracing } from './tracing.port.js';

/**
 * The tracing of a process; undefined when it is not configured. The SDK is loaded on demand: without tracing it takes no memory
 * and cannot fail.
 * @param service name of the service unless one is configured
 */
export async function openTracing(env: TelemetryEnv, service: string, log: Log): Promise<Tracing | undefined> {
  const url = tracesUrlOf(env);
  if (url === undefined) return undefined;
  const { OtlpTracing } = await import('./otlp-tracing.adapter.js');
  const attributes = { 'service.name': service, ...env.OTEL_RESOURCE_ATTRIBUTES };
  if (env.OTEL_SERVICE_NAME !== undefined) attributes['service.name'] = env.OTEL_SERVICE_NAME;
  return new OtlpTracing(url, attributes, env, log);
}

/**
 * Returns the address for spans: the address of traces as it is, or the address of all signals with OTLP's path of traces;
 * undefined without either.
 */
export function tracesUrlOf(env: TelemetryEnv): string | undefined {
  if (env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT !== undefined) return env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  return env.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/*$/, '/v1/traces');
}
