// Owns the examination of the stores and keys of a relay: findings, each with its severity, what it means and its fix.
// Guarantees that an examination changes nothing, that a check that cannot be made is a finding of its own and stops no other,
// and that no finding holds a secret.
// Leaves the settings of single processes and the words around the findings to its users, `relay doctor` and the operations app.
export { Away } from './away.js';
export { type Broken, type Condition, REDIS_CONDITIONS, TOPIC_CONDITIONS } from './conditions.js';
export { type Circumstances, examine, type ExaminedStores } from './examine.js';
export { fault, type Finding, ok, summaryOf, warning } from './finding.js';
export { isDispensable, type KeyUse, useFix, usesOf, useText } from './key-use.js';
export { lossOf, TOKEN } from './loss.adapter.js';
export { orFault } from './or-fault.js';
