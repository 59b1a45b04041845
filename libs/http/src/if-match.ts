import { ProblemError } from '@relay/problem';

/** A version as a strong entity tag (RFC 9110 section 8.8.3). */
export const etagOf = (version: number): string => `"${version}"`;

const TAG = String.raw`(?:W/)?"[\x21\x23-\x7e]*"`;
/** `*`, or entity tags with commas between them (RFC 9110 section 13.1.1). */
const IF_MATCH = new RegExp(String.raw`^(?:\*|${TAG}(?:[ \t]*,[ \t]*${TAG})*)$`);

/** Stands for a tag that the relay never issued: no webhook has this version. */
const FOREIGN = -1;

/**
 * The versions in `If-Match`; undefined without the header and for `*`, which any version matches. A weak tag never matches a strong
 * one.
 * @throws ProblemError `invalid-request` when it is no list of entity tags
 */
export function readIfMatch(header: string | undefined): readonly number[] | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (!IF_MATCH.test(text))
    throw new ProblemError('invalid-request', 'The header If-Match must be * or entity tags as ETag returns them.');
  if (text === '*') return undefined;
  const tags = text.match(new RegExp(TAG, 'g')) ?? [];
  return tags.map((tag) => Number(/^"(\d{1,15})"$/.exec(tag)?.[1] ?? FOREIGN));
}
