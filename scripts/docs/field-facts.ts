import type { z } from 'zod';

type Field = z.ZodType;

/** What a check or a transformation was put upon; undefined for a plain field. */
export const innerOf = (field: Field): Field | undefined => {
  const { in: input, innerType } = field.def as { in?: Field; innerType?: Field };
  return input ?? innerType;
};

export function meaningOf(field: Field): string {
  const inner = innerOf(field);
  return field.description ?? (inner === undefined ? '' : meaningOf(inner));
}

export function defaultOf(field: Field): string {
  if (!field.safeParse(undefined).success) return '**required**';
  const { type, defaultValue } = field.def as { type: string; defaultValue?: unknown };
  if (type === 'default') return defaultValue === '' ? 'empty' : `\`${String(defaultValue)}\``;
  const inner = innerOf(field);
  return type === 'optional' || inner === undefined ? 'not set' : defaultOf(inner);
}

/** The words a variable may be; undefined where it is not one of a few. */
export function enumOf(field: Field | undefined): string[] | undefined {
  if (field === undefined) return undefined;
  const { type, entries } = field.def as { type: string; entries?: Record<string, string> };
  return type === 'enum' && entries !== undefined ? Object.values(entries) : enumOf(innerOf(field));
}

/** What a variable may be, in words; empty where its meaning says it. */
export function valuesOf(field: Field): string {
  const values = field.meta()?.['values'];
  if (typeof values === 'string') return values;
  const words = enumOf(field);
  if (words !== undefined) return words.map((word) => `\`${word}\``).join(', ');
  const inner = innerOf(field);
  return inner === undefined ? '' : valuesOf(inner);
}

/** How a variable is written in YAML, as JSON Schema: a number, a flag, one of a few words, or text. */
export function typeOf(field: Field): Record<string, unknown> {
  const written = field.meta()?.['written'];
  if (typeof written === 'object' && written !== null) return { ...written };
  const words = enumOf(field);
  if (words !== undefined) return { enum: words };
  const inner = innerOf(field);
  return inner === undefined ? { type: 'string' } : typeOf(inner);
}
