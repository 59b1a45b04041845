// Owns the story of an envelope: what is known of it in the index of attempts, the queues, the seen marks, the ranges and the log,
// put together by one pure function for everyone who may ask.
// Guarantees that a part that cannot be told is named in `incomplete`, and that the answer costs Redis and Kafka a few reads, however
// much they hold.
// Leaves to the apps who may ask and what of it they are shown.
export {
  ClueQuery,
  clueOf,
  EnvelopeStory,
  StoryDelivery,
  withoutAnswers,
  type EnvelopeClue,
  type IncompletePart,
} from './story-of.js';
export { LoggedAttempts, StoryReader, StoryState, type StoryWebhooks } from './story-reader.js';
