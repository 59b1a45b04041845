// Owns the examination of the stores and keys of a relay: findings, each with its severity, what it means and its fix.
// Guarantees that an examination changes nothing, that a check that cannot be made is a finding of its own and stops no other,
// and that no finding holds a secret.
// Leaves the settings of single processes and the words around the findings to its users, `relay doctor` and the operations app.
export { type Condition, REDIS_CONDITIONS, TOPIC_CONDITIONS } from './conditions.js';
export { examine } from './examine.js';
export { Away, fault, type Finding, ok, orFault, summaryOf, warning } from './finding.js';
export { isDispensable, type KeyUse, useFix, usesOf, useText } from './store-checks.adapter.js';
export { lossOf, TOKEN } from './loss.adapter.js';
