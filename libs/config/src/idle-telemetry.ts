type Variables = Readonly<Record<string, string | undefined>>;

/** Without the variables of OpenTelemetry where spans go nowhere: platforms set them in every pod, and nothing reads them here. */
export function withoutIdleTelemetry(env: Variables): Variables {
  const isIdle =
    (!env['OTEL_EXPORTER_OTLP_ENDPOINT'] && !env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']) ||
    env['OTEL_SDK_DISABLED'] === 'true' ||
    env['OTEL_TRACES_EXPORTER'] === 'none';
  return isIdle ? Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('OTEL_'))) : env;
}
