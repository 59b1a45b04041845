import { ConfigurationFault, parseEnv, telemetryEnv } from '@relay/config';
import { z } from 'zod';
import { tracesUrlOf } from './open-tracing.js';

const read = (env: Record<string, string>) => parseEnv(z.object(telemetryEnv), env, () => 'authorization=Bearer%20x\n');
const OTEL = 'OTEL_EXPORTER_OTLP';

describe('the export of spans', () => {
  it.each([
    [{}, undefined],
    [{ OTEL_SERVICE_NAME: 'x', [`${OTEL}_HEADERS`]: 'a=b' }, undefined],
    [{ [`${OTEL}_PROTOCOL`]: 'grpc', OTEL_TRACES_SAMPLER: 'jaeger_remote' }, undefined],
    [{ [`${OTEL}_ENDPOINT`]: 'grpc://c:4317', OTEL_SDK_DISABLED: 'true', OTEL_TRACES_EXPORTER: 'console' }, undefined],
    [{ [`${OTEL}_ENDPOINT`]: '', [`${OTEL}_PROTOCOL`]: 'grpc' }, undefined],
    [{ [`${OTEL}_ENDPOINT`]: 'http://c:4318' }, 'http://c:4318/v1/traces'],
    [{ [`${OTEL}_ENDPOINT`]: 'https://c/otlp/' }, 'https://c/otlp/v1/traces'],
    [{ [`${OTEL}_TRACES_ENDPOINT`]: 'http://c:4318/here' }, 'http://c:4318/here'],
    [{ [`${OTEL}_TRACES_ENDPOINT`]: 'http://t/', [`${OTEL}_ENDPOINT`]: 'http://c' }, 'http://t/'],
    [{ [`${OTEL}_ENDPOINT`]: 'http://c', OTEL_TRACES_EXPORTER: 'none' }, undefined],
    [{ [`${OTEL}_ENDPOINT`]: 'http://c', OTEL_SDK_DISABLED: 'true' }, undefined],
    [{ [`${OTEL}_ENDPOINT`]: 'http://c', OTEL_SDK_DISABLED: 'false' }, 'http://c/v1/traces'],
  ])('with %j goes to %s', (env, url) => {
    expect(tracesUrlOf(read(env))).toBe(url);
  });

  it('reads the headers from a file, as every secret', () => {
    const env = { [`${OTEL}_ENDPOINT`]: 'http://c', [`${OTEL}_HEADERS_FILE`]: '/run/secrets/headers' };
    expect(read(env)[`${OTEL}_HEADERS`]).toEqual({ authorization: 'Bearer x' });
  });

  it.each([
    [`${OTEL}_ENDPOINT`, 'collector:4318'],
    [`${OTEL}_ENDPOINT`, 'grpc://collector:4317'],
    [`${OTEL}_TRACES_ENDPOINT`, '/v1/traces'],
    [`${OTEL}_PROTOCOL`, 'grpc'],
    [`${OTEL}_HEADERS`, 'secret-token'],
    [`${OTEL}_HEADERS`, 'a=b,se cret=token'],
    [`${OTEL}_HEADERS`, 'authorization=secret%0Atoken'],
    [`${OTEL}_HEADERS`, 'authorization=secret%zztoken'],
    ['OTEL_TRACES_EXPORTER', 'console'],
    ['OTEL_SDK_DISABLED', 'yes'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'team'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
    ['OTEL_TRACES_SAMPLER_ARG', 'half'],
  ])('reports that %s=%s is wrong, by its name and without the value', (name, value) => {
    let faults: readonly string[] = [];
    try {
      read({ [`${OTEL}_ENDPOINT`]: 'http://c', [name]: value });
    } catch (error) {
      if (error instanceof ConfigurationFault) ({ faults } = error);
    }
    expect(faults).toEqual([expect.stringMatching(`^${name} is wrong: `)]);
    expect(faults[0]).not.toMatch(/secret|collector:4317/);
  });
});
