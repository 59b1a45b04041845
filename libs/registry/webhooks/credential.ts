import { z } from 'zod';

export type Credential =
  | { readonly kind: 'apiKey'; readonly apiKey: string }
  | { readonly kind: 'jwt'; readonly jwt: string }
  | { readonly kind: 'basic'; readonly userName: string; readonly password: string };

// apiKey and jwt are sent in a header as they are, so they must be visible ASCII. RFC 7617 section 2 allows no colon in a
// user name and no control characters in a user name or password.
const headerToken = (name: string) =>
  z.string().regex(/^[\x21-\x7e]{1,4096}$/, `${name} must be 1 to 4096 visible ASCII characters without spaces`);

/** The members of a body that form a credential; `oneCredential` decides which combinations are allowed. */
export const credentialMembers = {
  apiKey: headerToken('apiKey').optional().describe('Sent to the endpoint as `x-api-key`.'),
  jwt: headerToken('jwt').optional().describe('Sent to the endpoint as `authorization: Bearer`.'),
  userName: z
    .string()
    .regex(/^[^:\p{Cc}]{1,4096}$/u, 'userName must be 1 to 4096 characters, no colon, no control characters')
    .optional()
    .describe('Sent to the endpoint by HTTP Basic, with `password`; together at most 4096 bytes of UTF-8.'),
  password: z
    .string()
    .regex(/^\P{Cc}{1,4096}$/u, 'password must be 1 to 4096 characters, no control characters')
    .optional()
    .describe('Goes with `userName`; together at most 4096 bytes of UTF-8.'),
};

const OPTION_SHAPES = [{ required: ['apiKey'] }, { required: ['jwt'] }, { required: ['userName', 'password'] }];
const PAIR = { userName: ['password'], password: ['userName'] };

/**
 * The credential rule as JSON Schema. The OpenAPI documents need it, because a zod check cannot be converted to JSON Schema.
 */
export const exactlyOneShape = { oneOf: OPTION_SHAPES, dependentRequired: PAIR };

export const atMostOneShape = {
  oneOf: [...OPTION_SHAPES, { not: { anyOf: ['apiKey', 'jwt', 'userName'].map((name) => ({ required: [name] })) } }],
  dependentRequired: PAIR,
};

type CredentialName = keyof typeof credentialMembers;
const MEMBERS = Object.keys(credentialMembers) as CredentialName[];
type Given = { readonly [Name in CredentialName]?: unknown };

/** Most bytes of user name and password together. An apiKey and a jwt have the same limit. */
const BASIC_BYTES = 4_096;
const TOO_LONG = `userName and password must have at most ${BASIC_BYTES} bytes of UTF-8 together`;
const basicBytes = ({ userName, password }: Given): number =>
  typeof userName === 'string' && typeof password === 'string' ? Buffer.byteLength(userName + password) : 0;

const OPTIONS = ['apiKey', 'jwt', 'userName'] as const;
const NONE = 'Say how your endpoint recognises the relay: apiKey, jwt, or userName with password.';

/**
 * Returns the faults in the choice of members, each with its member unless it is of the choice as a whole; no fault if there is exactly one credential of
 * permitted length.
 */
function credentialFaults(given: Given): { member?: CredentialName; detail: string }[] {
  if (given.userName === undefined && given.password !== undefined)
    return [{ member: 'userName', detail: 'userName is missing: it goes with password.' }];
  if (given.userName !== undefined && given.password === undefined)
    return [{ member: 'password', detail: 'password is missing: it goes with userName.' }];
  const options = OPTIONS.filter((name) => given[name] !== undefined);
  if (options.length === 1) return basicBytes(given) > BASIC_BYTES ? [{ member: 'password', detail: TOO_LONG }] : [];
  return [{ detail: options.length === 0 ? NONE : `Keep one of ${options.join(', ')}: a webhook has one credential.` }];
}

const addFaults = (given: Given, context: z.core.$RefinementCtx): void => {
  for (const { member, detail } of credentialFaults(given))
    context.addIssue({ code: 'custom', path: member === undefined ? [] : [member], message: detail });
};

/** A zod check of the credential rule. It also runs if other members have faults, so that one answer lists all faults. */
export const oneCredential = z.superRefine<Given>(addFaults, {
  when: ({ value }) => typeof value === 'object' && value !== null && !Array.isArray(value),
});

/** A zod check that accepts a body without a credential and otherwise applies the credential rule. */
export const atMostOneCredential = z.superRefine<Given>((given, context) => {
  if (MEMBERS.some((name) => given[name] !== undefined)) addFaults(given, context);
});

/**
 * Returns the credential in `given`, which was checked by `oneCredential` or `atMostOneCredential`; undefined if it contains
 * none.
 */
export function credentialOf(given: {
  readonly [Name in CredentialName]?: string | undefined;
}): Credential | undefined {
  if (given.apiKey !== undefined) return { kind: 'apiKey', apiKey: given.apiKey };
  if (given.jwt !== undefined) return { kind: 'jwt', jwt: given.jwt };
  if (given.userName === undefined || given.password === undefined) return undefined;
  return { kind: 'basic', userName: given.userName, password: given.password };
}
