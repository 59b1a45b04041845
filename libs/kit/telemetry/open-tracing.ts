import type { TelemetryEnv } from '@relay/config';
import type { Log } from './log.js';
import type { Tracing } from './tracing.port.js';

/**
 * Returns the tracing of a process; undefined if it is not configured. The OpenTelemetry SDK is loaded only if it is needed,
 * so it otherwise takes no memory and cannot fail.
 * @param service name of the service, unless the environment has one
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
 * Returns the URL to which spans are sent: the URL for traces as it is, or the URL for all signals followed by OTLP's path
 * for traces; undefined if neither is set.
 */
export function tracesUrlOf(env: TelemetryEnv): string | undefined {
  if (env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT !== undefined) return env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  return env.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/*$/, '/v1/traces');
}
