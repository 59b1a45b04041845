// Owns the error codes that clients see and the shape of an error (RFC 9457).
// Guarantees that each code has one status and one title, and that docs/errors.md lists exactly these codes.
// Leaves to `http` how a problem is written to HTTP, and to the throwing code which detail helps the client.
export { errorsPage, PROBLEMS, ProblemBody, ProblemError, toProblem, unavailable } from './problem.js';
export type { ProblemCode, MemberFault } from './problem.js';
