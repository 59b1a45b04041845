import { z } from 'zod';

export const EnvelopeId = z.guid().toLowerCase();
