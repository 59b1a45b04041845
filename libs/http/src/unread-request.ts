import { STATUS_CODES } from 'node:http';
import { ProblemError, toProblem } from '@relay/problem';

/** Codes of Node's `clientError` event. */
const PROBLEM_OF: Readonly<Record<string, ProblemError>> = {
  ERR_HTTP_REQUEST_TIMEOUT: new ProblemError('request-timeout', 'The request did not arrive in time.'),
  HPE_HEADER_OVERFLOW: new ProblemError('headers-too-large', 'The headers are too large.'),
};
const MALFORMED = new ProblemError('invalid-request', 'The request is not HTTP/1.1 as RFC 9112 defines it.');

/** A complete HTTP answer to bytes that Node could not parse as a request: it names no path and ends the connection. */
export function answerUnread(code: string | undefined, publicUrl: string, requestId: string): string {
  const problem = PROBLEM_OF[code ?? ''] ?? MALFORMED;
  const body = JSON.stringify(toProblem(problem, { publicUrl, instance: '/', requestId }));
  return [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}
