import { readFileSync } from 'node:fs';
import { z } from 'zod';

/**
 * Parses the configuration of a process and starts the process with it. If this fails, it writes one line of JSON with all
 * faults of the configuration, or with the error of the start, to standard error, and the process exits with 1. Values of
 * secrets are removed from the line, because the message of a driver may repeat them.
 */
export async function startWith<S extends z.ZodObject>(
  schema: S,
  env: Environment,
  start: (config: z.infer<S>) => Promise<void>,
): Promise<void> {
  let secrets: readonly string[] = [];
  let config: z.infer<S> | undefined;
  try {
    config = parseEnv(schema, env, (path) => readFileSync(path, 'utf8'));
    secrets = Object.entries(schema.shape).flatMap(([name, field]) => {
      const value: unknown = isSecret(field as z.ZodType) ? config?.[name] : undefined;
      return typeof value === 'string' && value !== '' ? [value] : [];
    });
    await start(config);
  } catch (error) {
    tell(portFault(error, config) ?? error, secrets);
    process.exit(1);
  }
}

/** Returns the error of a port that is in use with the variable that sets it; undefined for any other error. */
function portFault(error: unknown, config: Readonly<Record<string, unknown>> = {}): Error | undefined {
  const { code, port } = error as NodeJS.ErrnoException & { port?: number };
  const [name] = Object.entries(config).find(([key, value]) => key.endsWith('PORT') && value === port) ?? [];
  return code === 'EADDRINUSE' && name !== undefined
    ? new Error(`${name}=${port}: another process uses this port: stop it, or set another ${name}`)
    : undefined;
}

function tell(error: unknown, secrets: readonly string[]): void {
  const line =
    error instanceof ConfigurationFault
      ? { level: 60, event: 'configuration.wrong', msg: 'The process ends: settings are wrong', faults: error.faults }
      : { level: 60, event: 'start.failed', msg: 'The process did not start', reason: reasonOf(error, secrets) };
  process.stderr.write(`${JSON.stringify(line)}\n`);
}

const reasonOf = (error: unknown, secrets: readonly string[]): string =>
  secrets.reduce(
    (text, secret) => text.replaceAll(secret, '[secret]'),
    error instanceof Error ? error.message || error.name : String(error),
  );

/**
 * All faults of the environment, one line each, with the name of the variable. Values are left out, as they may be secret.
 */
export class ConfigurationFault extends Error {
  constructor(readonly faults: readonly string[]) {
    super(
      `The configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${faults.map((f) => `  - ${f}`).join('\n')}`,
    );
    this.name = 'ConfigurationFault';
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the environment of a process by a schema. A variable marked with `secret()` may also be given as `NAME_FILE`, the
 * path of a file that contains the value. An empty variable is treated as not set. Variables of OpenTelemetry are ignored if
 * no spans are exported.
 * @param readFile reads the file of a `NAME_FILE` variable
 * @throws ConfigurationFault that lists all faults
 */
export function parseEnv<S extends z.ZodObject>(
  schema: S,
  given: Environment,
  readFile: (path: string) => string,
): z.infer<S> {
  const env = withoutIdleTelemetry(given);
  const faults: string[] = [];
  const values: Record<string, string> = {};
  for (const [name, field] of Object.entries(schema.shape)) {
    const direct = env[name];
    const path = isSecret(field as z.ZodType) ? env[`${name}_FILE`] : undefined;
    if (direct && path) faults.push(`${name} and ${name}_FILE are both set: keep one`);
    if (direct) values[name] = direct;
    else if (path) {
      try {
        values[name] = readFile(path).trim();
      } catch {
        faults.push(`${name}_FILE names a file that cannot be read`);
      }
    }
  }
  const result = schema.safeParse(values);
  if (!result.success) {
    for (const issue of result.error.issues) {
      const name = String(issue.path[0] ?? '');
      if (!faults.some((f) => f.startsWith(`${name}_FILE`))) {
        faults.push(
          issue.path.length === 0
            ? issue.message
            : `${name} ${values[name] === undefined ? 'is not set' : 'is wrong'}: ${issue.message}`,
        );
      }
    }
  }
  if (faults.length > 0 || !result.success) throw new ConfigurationFault(faults);
  return result.data;
}

/**
 * Marks a variable as secret: it can be read from `NAME_FILE` and is never printed. Schemas derived from it are secret too.
 */
export const secret = <T extends z.ZodType>(field: T): T => field.meta({ ...field.meta(), secret: true });

export const isSecret = (field: z.ZodType): boolean => field.meta()?.['secret'] === true;

/**
 * Returns a refinement that passes the value to `read`, so that an error of `read` is reported together with all other
 * faults.
 */
export const readableBy =
  <T>(read: (value: T) => unknown) =>
  (value: T, context: z.RefinementCtx): void => {
    try {
      read(value);
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : 'cannot be read' });
    }
  };

// In the metadata below, `written` is the JSON Schema of a value in the Helm chart, and `values` describes the permitted
// values in words for docs/configuration.md.

/** A duration above zero such as `15s`, `5m` or `72h`, within the given bounds. The parsed value is in milliseconds. */
export const duration = (byDefault: string, { from, to }: { from?: string; to?: string } = {}) => {
  const [least, most] = [parseDuration(from ?? '') ?? 1, parseDuration(to ?? '') ?? Infinity];
  const values = to === undefined ? undefined : from === undefined ? `at most ${to}` : `${from} to ${to}`;
  const expected = values === undefined ? 'a duration above zero such as 15s, 5m or 72h' : `a duration, ${values},`;
  return z
    .string()
    .default(byDefault)
    .transform((text, ctx) => {
      const ms = parseDuration(text) ?? 0;
      if (!(ms >= least && ms <= most)) ctx.addIssue({ code: 'custom', message: `${expected} is expected` });
      return ms;
    })
    .meta({ written: { type: 'string', pattern: '^\\d{1,9}(ms|s|m|h|d)$' }, values });
};

export const integer = (byDefault: number, min: number, max: number) =>
  z
    .string()
    .default(String(byDefault))
    .transform((text, ctx) => {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      if (!(value >= min && value <= max))
        ctx.addIssue({ code: 'custom', message: `a whole number from ${min} to ${max} is expected` });
      return value;
    })
    .meta({ written: { type: 'integer', minimum: min, maximum: max }, values: `${min} to ${max}` });

const trueOrFalse = () => z.enum(['true', 'false'], { error: 'true or false is expected' });

export const flag = (byDefault: boolean) =>
  trueOrFalse()
    .default(byDefault ? 'true' : 'false')
    .transform((text) => text === 'true')
    .meta({ written: { type: 'boolean' } });

/** A flag that may also be left unset, which has a meaning of its own. */
export const optionalFlag = () =>
  trueOrFalse()
    .optional()
    .transform((text) => (text === undefined ? undefined : text === 'true'))
    .meta({ written: { type: 'boolean' } });

/**
 * Comma-separated `name=value` pairs in OpenTelemetry's form: names are tokens (RFC 9110), and values are percent-encoded.
 * @param value pattern that every decoded value must match
 */
export const pairs = (value: RegExp) =>
  z
    .string()
    .default('')
    .transform((text, ctx) => {
      const read = text
        .split(',')
        .filter((part) => part.trim() !== '')
        .map(readPair);
      if (read.some((pair) => pair === undefined || !value.test(pair[1])))
        ctx.addIssue({
          code: 'custom',
          message: 'name=value pairs with percent-encoded values, comma separated, are expected',
        });
      return Object.fromEntries(read.filter((pair) => pair !== undefined));
    })
    .meta({ written: { type: 'string' } });

function readPair(part: string): [name: string, value: string] | undefined {
  const [, name = '', value = ''] = /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(.*?)\s*$/.exec(part) ?? [];
  try {
    return name === '' ? undefined : [name, decodeURIComponent(value)];
  } catch {
    return undefined;
  }
}

/** A comma-separated list. Empty parts are left out. */
export const list = (byDefault = '') =>
  z
    .string()
    .default(byDefault)
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    );

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * Returns a duration such as `500ms`, `15s`, `5m`, `72h` or `7d` in milliseconds; undefined if the text is not a duration.
 */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text.trim());
  return match ? Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS] : undefined;
}

/**
 * Removes OpenTelemetry's variables if no spans are exported: some platforms set them in every pod, and they may be invalid.
 */
function withoutIdleTelemetry(env: Environment): Environment {
  const isIdle =
    (!env['OTEL_EXPORTER_OTLP_ENDPOINT'] && !env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']) ||
    env['OTEL_SDK_DISABLED'] === 'true' ||
    env['OTEL_TRACES_EXPORTER'] === 'none';
  return isIdle ? Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('OTEL_'))) : env;
}
