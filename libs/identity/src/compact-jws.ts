const MAX_LENGTH = 4_096;
/** The signature of HS256, the shortest of RFC 7518. A token with less could be guessed at. */
const MIN_SIGNATURE_BYTES = 32;

/** Why a text is no signed JWT in the compact form of RFC 7515 section 7.1; undefined when it is one. The reason never quotes it. */
export function jwsFault(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return `it is longer than ${MAX_LENGTH} characters`;
  const [header = '', , signature = ''] = /^([\w-]+)\.([\w-]+)\.([\w-]*)$/.exec(text)?.slice(1) ?? [];
  if (header === '') return 'it does not have three parts in base64url with dots between them';
  const alg = algorithmIn(header);
  if (alg === undefined) return 'its first part is no JSON object that names an algorithm in `alg`';
  if (alg.toLowerCase() === 'none') return 'it is not signed: its `alg` is none';
  const bytes = Buffer.from(signature, 'base64url').length;
  if (bytes < MIN_SIGNATURE_BYTES)
    return `its signature has ${bytes} bytes: at least ${MIN_SIGNATURE_BYTES} are expected`;
  return undefined;
}

function algorithmIn(header: string): string | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(header, 'base64url').toString('utf8'));
    const alg: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'alg') : undefined;
    return typeof alg === 'string' && alg !== '' ? alg : undefined;
  } catch {
    return undefined;
  }
}
