import { NotFoundException } from '@nestjs/common';
import { ProblemError } from '@relay/problem';
import { RegistryUnavailable } from '@relay/registry';
import { problemOf } from './problem-of.js';

const reply = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });

describe('problemOf', () => {
  it.each([
    ['a problem', new ProblemError('conflict', 'It exists.'), true, 'conflict'],
    ["the framework's own error", new NotFoundException(), true, 'not-found'],
    ["the HTTP server's own error", Object.assign(new Error('x'), { statusCode: 413 }), false, 'payload-too-large'],
    ['a Redis that starts', reply('LOADING Redis is loading the dataset in memory'), true, 'unavailable'],
    ['a Redis that fails over', reply('READONLY You can’t write against a read only replica.'), true, 'unavailable'],
    ['a full Redis', reply('OOM command not allowed'), true, 'unavailable'],
    ['a wrong command', reply('WRONGTYPE Operation against a key'), true, 'internal'],
    ['a wrong command just before Redis went', reply('ERR syntax error'), false, 'internal'],
    ['a frozen Redis', new Error('Command timed out'), true, 'unavailable'],
    ['a Redis that is away', new Error('Connection is closed.'), false, 'unavailable'],
    ['a registration not confirmed', new RegistryUnavailable('x', true), true, 'unavailable'],
    ['registrations that cannot be read', new RegistryUnavailable('x', false), true, 'unavailable'],
    ['an error of ours', new TypeError('x is undefined'), true, 'internal'],
    ['nothing at all', undefined, true, 'internal'],
  ])('names %s', (_name, thrown, redisReady, code) => {
    expect(problemOf(thrown, redisReady).code).toBe(code);
  });
});
