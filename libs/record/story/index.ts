// Owns the story of an envelope: everything that is known of it from the index of attempts, the queues, the seen marks, the
// ranges and the log. One pure function puts it together for everyone who may ask.
// Guarantees that `incomplete` names each part that cannot be read, and that a story takes only a few reads of Redis and
// Kafka, which do not get slower with the amount of data.
// Leaves to the apps who may ask for a story, and how much of it they may see.
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
