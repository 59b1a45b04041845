import type { Envelope, EventType } from '@relay/events';

const ID = '6f1e2d3c-4b5a-4968-8776-655443322110';
const ENTITY = '0b7c1f52-3d0e-4c5a-9a51-3f6e0c1d2b4a';
const TASK = {
  id: ENTITY,
  userId: '9d8c7b6a-5f4e-4d3c-8b2a-190817263544',
  financialPlanId: '1a2b3c4d-5e6f-4a1b-8c2d-3e4f5a6b7c8d',
};

/** An envelope of this type for the documents. */
export const exampleOf = (type: EventType): Envelope =>
  ({ id: ID, type, payload: type.startsWith('task.') ? TASK : { id: ENTITY } }) as Envelope;
