"""The commonest small words of some languages, in lower case."""

# ruff: noqa: RUF001 - letters of other scripts are meant.

_LISTS = {
    "de": """
        aber als auch auf aus bei das dass dem den der des die ein eine einen er es für
        haben hat ich im in ist mit nach nicht noch nur oder sich sie sind so über um und
        von vor war werden wie wir wird zu zum zur
    """,
    "en": """
        a an and are as at be been but by for from had has have he her his i if in is it its
        not of on or she that the their they this to was we were which will with would you
    """,
    "es": """
        al como con de del el ella en entre es esta este fue ha hay la las lo los más muy no
        o para pero por que se ser si sin sobre son su sus también un una y ya
    """,
    "fr": """
        au aux avec ce cette ces comme dans de des du elle en est et il ils la le les leur
        mais ne nous ont ou par pas plus pour qu que qui sa se ses son sont sur un une vous
    """,
    "it": """
        al alla anche che come con da dal dei del della di e gli ha i il in io la le lo ma
        nel nella non o per più questo se si sono su sua suo un una
    """,
    "nl": """
        aan als bij dat de den die dit door een en er haar heeft het hij hun ik in is maar
        met naar niet nog of om ook op over te tot uit van voor was werd wordt ze zijn
    """,
    "pl": """
        a ale aby być co czy dla do go i ich jak jako jest jej już lub ma na nad nie o od
        oraz po przez przy się są tak to tylko w we z za że
    """,
    "pt": """
        a ao aos as às com como da das de do dos e ela ele em entre era é foi há isso mais
        mas na nas não no nos o os ou para pela pelo por que se sem ser seu sua são também
        um uma
    """,
    "ru": """
        а без был была были было быть в во вы для до его ее если есть же за и из или их к
        как когда который мы на не но о он она они от по при с со так то только у уже что
        это
    """,
}

STOP_WORDS = {language: frozenset(words.split()) for language, words in _LISTS.items()}
