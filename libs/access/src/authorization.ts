/** User and password of a Basic header (RFC 7617), split at the first colon; undefined when it is none. */
export function readBasic(header: string | undefined): { user: string; password: string } | undefined {
  const encoded = credentialsOf(header, 'basic');
  if (encoded === undefined || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(encoded)) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Token of a Bearer header (RFC 6750 section 2.1); undefined when there is none. */
export function readBearer(header: string | undefined): string | undefined {
  const token = credentialsOf(header, 'bearer');
  return token === undefined || /[^\x21-\x7e]/.test(token) ? undefined : token;
}

// RFC 9110 section 11.1: the scheme is compared without regard to case.
function credentialsOf(header: string | undefined, scheme: string): string | undefined {
  if (header?.charAt(scheme.length) !== ' ' || header.slice(0, scheme.length).toLowerCase() !== scheme)
    return undefined;
  const credentials = header.slice(scheme.length).trim();
  return credentials === '' ? undefined : credentials;
}

/**
 * A client id or secret as OAuth libraries send it: RFC 6749 section 2.3.1 has both form-encoded before Basic, some libraries
 * encode even `_` and `-`, many clients encode nothing. Ours never hold a `%`, so decoding is safe. Undefined when malformed.
 */
export function formDecode(text: string): string | undefined {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
