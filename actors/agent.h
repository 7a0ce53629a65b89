/* agent.h - who takes part in an arena: a policy of ours, or a program behind Botzone's protocol.
 */
#ifndef DIZHU_ACTORS_AGENT_H
#define DIZHU_ACTORS_AGENT_H
#include "actors/external.h"
#include "actors/policy.h"

typedef struct {
    const char *name; /* borrowed: `random`, `net:FILE`, ..., `cmd:PROGRAM`, `cmdkeep:PROGRAM` */
    Policy *policy;   /* NULL: external */
    ExternalConfig external; /* if policy is NULL */
    bool slow;               /* a decision takes more than a millisecond */
    uint64_t fingerprint;    /* of the weights file; 0: none */
} Agent;

/* limits: of external programs (its command is not looked at). Statuses as policy_open. */
Status agent_open(const char *name, RulesetId rules, Precision precision, bool any_rules,
                  const ExternalConfig *limits, Agent *out);
void agent_close(Agent *a);

#endif
