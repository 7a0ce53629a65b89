/* rules_option.h - the --rules and --precision choices that several commands have. */
#ifndef DIZHU_ACTORS_RULES_OPTION_H
#define DIZHU_ACTORS_RULES_OPTION_H

#define RULES_CHOICES     "douzero|rlcard|botzone|botzone1|classic" /* in the order of RulesetId */
#define PRECISION_CHOICES "fp32|bf16|int8"                          /* of Precision */

#endif
