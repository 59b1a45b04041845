import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

/** So many pieces, shorter than this on average, come from nobody honest before it is known who calls. */
const [MANY, SHORT] = [1_000, 64];

/**
 * Ends the connection of a body that arrives in many tiny pieces while nobody reads it. Node bounds what waits by its bytes, and
 * keeps a Buffer of some 250 bytes for each piece: 64 KiB in chunks of one byte take 16 MiB.
 */
export function boundUnreadPieces(request: IncomingMessage): void {
  let [pieces, bytes] = [0, 0];
  request.push = function (this: IncomingMessage, piece: Buffer | null, encoding?: BufferEncoding): boolean {
    if (piece === null || this.readableFlowing === true) return Readable.prototype.push.call(this, piece, encoding);
    pieces += 1;
    bytes += piece.length;
    if (pieces <= MANY || bytes >= pieces * SHORT) return Readable.prototype.push.call(this, piece, encoding);
    this.destroy();
    return false;
  };
}
