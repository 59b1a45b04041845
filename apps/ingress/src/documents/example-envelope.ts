import { examplePayload, type EnvelopeType } from '@relay/events';

const ID = '6f1e2d3c-4b5a-4968-8776-655443322110';

/** An envelope of this type, for the documents and test deliveries. */
export const exampleOf = (type: EnvelopeType) => ({ id: ID, type, payload: examplePayload(type) });
