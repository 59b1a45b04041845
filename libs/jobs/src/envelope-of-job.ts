import { parseDeliveryId } from '@relay/delivery';

/** The envelope of a job or dead letter, by its id; '' for an id that is none of ours. */
export const envelopeIdOf = (id: string): string => parseDeliveryId(id)?.envelopeId ?? '';
