import { AsyncLocalStorage } from 'node:async_hooks';
import type { AskingPartner } from '@relay/audit';
import type { FastifyReply } from '@relay/http';
import { askedBy } from '../access/partner-audit.js';

/** The request that is handled, for what is called deep within it, and for the work that goes on after its answer. */
export class PresentRequest {
  readonly #replies = new AsyncLocalStorage<FastifyReply>();

  within<T>(reply: FastifyReply, handle: () => T): T {
    return this.#replies.run(reply, handle);
  }

  /** Its answer, until it is sent. */
  get reply(): FastifyReply | undefined {
    const reply = this.#replies.getStore();
    return reply?.sent === false ? reply : undefined;
  }

  get askedBy(): AskingPartner | undefined {
    const request = this.#replies.getStore()?.request;
    return request?.caller && askedBy(request);
  }
}
