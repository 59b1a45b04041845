import type { AskingPartner } from '@relay/audit';
import { presentReply, presentRequest, type FastifyReply } from '@relay/http';
import { askedBy } from '../access/partner-audit.js';

/** The request that is handled, for what is called deep within it, and for the work that goes on after its answer. */
export class PresentRequest {
  /** Its answer, until it is sent. */
  get reply(): FastifyReply | undefined {
    return presentReply();
  }

  get askedBy(): AskingPartner | undefined {
    const request = presentRequest();
    return request?.caller && askedBy(request);
  }
}
