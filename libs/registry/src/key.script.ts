import { redisKey, type ViewPart } from '@relay/redis';

/** `registry:keys`: name of an encryption key → its check value; `registry:deployment`: who this Redis and this log belong to. */
export const keyKeys = [redisKey('registry', 'keys')] as const;
export const deploymentKeys = [redisKey('registry', 'deployment')] as const;

export const keyParts: readonly ViewPart[] = [{ name: 'keys', key: keyKeys[0], kind: 'hash' }];
export const deploymentParts: readonly ViewPart[] = [{ name: 'deployment', key: deploymentKeys[0], kind: 'string' }];

/** As `applyWebhookLua`. A check value is never replaced: under a name there is one key until that is forgotten. */
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

/** The first in the log wins. */
export const applyDeploymentLua = `
local deployment = KEYS[1]
return function(command)
  redis.call('SETNX', deployment, command.id)
  return { kind = 'deployment', id = redis.call('GET', deployment) }
end
`;
