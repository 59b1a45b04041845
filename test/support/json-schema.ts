import { z } from 'zod';

type Schema = Parameters<typeof z.fromJSONSchema>[0];

/** A validator of a schema of an OpenAPI or AsyncAPI document, given what its references to `#/components/schemas/` mean. */
export function validatorOf(schema: object, schemas: object): z.ZodType {
  const whole = JSON.stringify({ ...schema, $defs: schemas });
  return z.fromJSONSchema(JSON.parse(whole.replaceAll('#/components/schemas/', '#/$defs/')) as Schema);
}
