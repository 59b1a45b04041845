import { isUtf8 } from 'node:buffer';
import { CanonicalReader } from './canonical-reader.js';
import type { JsonFault } from './json-fault.js';

/** The deepest nesting accepted unless the caller says otherwise; a scalar has depth 0, `[]` and `{}` have depth 1. */
const DEFAULT_MAX_DEPTH = 32;
/** No caller may ask for more: the reader recurses once per level and must not exhaust the stack. */
const HIGHEST_MAX_DEPTH = 500;

export interface JsonLimits {
  /** Deepest nesting accepted. @default 32 @maximum 500 */
  maxDepth?: number;
}

export type JsonResult = { ok: true; value: unknown; canonical: string } | { ok: false; fault: JsonFault };

/**
 * Reads one JSON text strictly. `value` is for validation: its numbers are doubles, those beyond the range of a double are the
 * largest finite one (RFC 8259 section 6 lets a reader limit range; Infinity is no JSON value). The bytes and `canonical` keep
 * everything exactly, above all numbers. Never throws.
 */
export function parseJson(bytes: Uint8Array, limits: JsonLimits = {}): JsonResult {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString();
  if (!isUtf8(buffer)) return refused(`The text is not valid UTF-8 at byte ${firstInvalidByte(buffer, text)}.`);
  if (text.startsWith('\ufeff')) return refused('A byte order mark is not allowed (RFC 8259 section 8.1) at byte 0.');
  const reader = new CanonicalReader(text, Math.min(limits.maxDepth ?? DEFAULT_MAX_DEPTH, HIGHEST_MAX_DEPTH));
  const canonical = reader.read();
  if (canonical === undefined) return { ok: false, fault: reader.fault };
  return { ok: true, value: reader.built, canonical };
}

function refused(detail: string): JsonResult {
  return { ok: false, fault: { pointer: '', detail } };
}

/** Decoding put U+FFFD in place of what is invalid; the first one that the bytes do not spell themselves marks the place. */
function firstInvalidByte(bytes: Buffer, decoded: string): number {
  let byte = 0;
  let from = 0;
  for (let at = decoded.indexOf('\ufffd'); at >= 0; at = decoded.indexOf('\ufffd', from)) {
    byte += Buffer.byteLength(decoded.slice(from, at));
    if (bytes.readUIntBE(byte, Math.min(3, bytes.length - byte)) !== 0xefbfbd) break;
    byte += 3;
    from = at + 1;
  }
  return byte;
}
