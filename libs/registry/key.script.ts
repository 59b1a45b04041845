import { globalKey, type ViewPart } from '@relay/redis';

/** `registry:keys`: name of an encryption key → its check value. */
export const keyKeys = [globalKey('registry', 'keys')] as const;

export const keyParts: readonly ViewPart[] = [{ name: 'keys', key: keyKeys[0], kind: 'hash' }];

/** As `applyWebhookLua`. A check value is never replaced: a name means one key until an operator removes it. */
export const applyKeyLua = `
local keys = KEYS[1]
local apply = {}
function apply.register(command)
  if redis.call('HSETNX', keys, command.kid, command.check) == 1 then return { kind = 'registered' } end
  return { kind = redis.call('HGET', keys, command.kid) == command.check and 'known' or 'differs' }
end
function apply.forget(command)
  return { kind = redis.call('HDEL', keys, command.kid) == 1 and 'forgotten' or 'unknown' }
end
return function(command) return apply[command.kind](command) end
`;
