import { baseOffsets, unacknowledged } from './kafka-publisher.adapter.js';

const sent = [
  { topic: 'a', partition: 0 },
  { topic: 'a', partition: 1 },
  { topic: 'b', partition: 0 },
];

describe('unacknowledged', () => {
  it.each([
    ['nothing', sent.map(({ topic, partition }) => ({ topicName: topic, partition, errorCode: 0 })), []],
    ['everything when no answer came', [], sent],
    [
      'a partition of another topic or number',
      [
        { topicName: 'a', partition: 0, errorCode: 0 },
        { topicName: 'b', partition: 1, errorCode: 0 },
      ],
      [sent[1], sent[2]],
    ],
    [
      'a partition that came back with an error',
      sent.map(({ topic, partition }) => ({ topicName: topic, partition, errorCode: topic === 'b' ? 6 : 0 })),
      [sent[2]],
    ],
  ])('is %s', (_, answers, lost) => {
    expect(unacknowledged(sent, answers)).toEqual(lost);
  });
});

describe('baseOffsets', () => {
  it('are in the order of the batches, and undefined if the answer has none', () => {
    const answers = [
      { topicName: 'b', partition: 0, errorCode: 0, baseOffset: '-1' },
      { topicName: 'a', partition: 1, errorCode: 0, baseOffset: '12' },
      { topicName: 'a', partition: 0, errorCode: 0 },
    ];
    expect(baseOffsets(sent, answers)).toEqual([undefined, 12, undefined]);
  });
});
