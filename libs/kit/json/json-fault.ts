/** Why a text is refused: RFC 6901 pointer to the member ('' where none is known) and a sentence with the byte offset. */
export interface JsonFault {
  pointer: string;
  detail: string;
}

const MAX_SEGMENT = 100;
const MAX_EXCERPT = 40;

/**
 * The RFC 6901 pointer to a member. A name longer than 100 characters is input we do not send back: the pointer then ends
 * at the parent of that member, which is still true.
 */
export function jsonPointer(path: readonly PropertyKey[]): string {
  let pointer = '';
  for (const segment of path) {
    const name = String(segment);
    if (name.length > MAX_SEGMENT) break;
    pointer += `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  }
  return pointer;
}

/** At most 40 characters of untrusted text, quoted, with control characters and halves of surrogate pairs escaped. */
export function excerpt(text: string): string {
  return text.length > MAX_EXCERPT ? `${JSON.stringify(text.slice(0, MAX_EXCERPT))}…` : JSON.stringify(text);
}
