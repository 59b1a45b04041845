/** A webhook's version as a strong entity tag (RFC 9110 section 8.8.3). */
export const etagOf = (version: number): string => `"${version}"`;

/**
 * The version that `If-Match` names; undefined when there is no such header, or it is `*`: what is there will do. A tag we never
 * gave is a version that nothing has. Of several tags the first counts: one resource has one version.
 */
export function readIfMatch(header: string | undefined): number | undefined {
  if (header === undefined || header.trim() === '*') return undefined;
  const [, version = '-1'] = /^\s*"(\d{1,15})"/.exec(header) ?? [];
  return Number(version);
}
