import { callerIdOf, type FastifyRequest } from '@relay/http';

/** The operator who asks, and the request, as `relay.operations` names them. */
export const actorOf = (request: FastifyRequest): { operator: string; requestId: string } => ({
  operator: callerIdOf(request),
  requestId: request.id,
});
