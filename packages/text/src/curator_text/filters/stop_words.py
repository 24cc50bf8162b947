"""Stop words: the most common short words of some languages, in lower case."""


# ruff: noqa: RUF001 - letters of other scripts are meant.

_LISTS = {
    "ar": """
        في من على إلى عن أن إن كان كانت هذا هذه ذلك التي الذي هو هي لا ما مع أو ثم قد كل بين بعد
        قبل حتى إذا لم لن كما أي عند غير وقد وهو وهي ولا منذ يكون تكون
    """,
    "bg": """
        и в на се от за да не е с по че като ще са до при този тази това които който която си или
        но към след само може има във със беше бъде още така както ако
    """,
    "ca": """
        el la els les de del dels i a en un una que es per amb no al als o com més són ser seu
        seva aquest aquesta això pot també però si està ha han entre sobre quan molt fins
    """,
    "cs": """
        a v na se je že s z do o i k to jako pro by ale za po jsou od který která které tak si ve
        jeho jen nebo při byl byla bylo být pokud může tento této není také až
    """,
    "da": """
        og i at det er en til på de den som med af for ikke der et han har var fra men vi kan sig
        om eller hun blev efter også over være skal nu hvis hvor ud når meget
    """,
    "de": """
        aber als auch auf aus bei das dass dem den der des die ein eine einen er es für
        haben hat ich im in ist mit nach nicht noch nur oder sich sie sind so über um und
        von vor war werden wie wir wird zu zum zur
    """,
    "el": """
        και το να του η της με που την από για τα είναι των σε ο οι στο θα τη στην δεν τον τις
        στα ένα μια αυτό ως κατά ή αν όπως έχει μας σας πως αλλά μετά
    """,
    "en": """
        a an and are as at be been but by for from had has have he her his i if in is it its
        not of on or she that the their they this to was we were which will with would you
    """,
    "es": """
        al como con de del el ella en entre es esta este fue ha hay la las lo los más muy no
        o para pero por que se ser si sin sobre son su sus también un una y ya
    """,
    "fa": """
        و در به از که این را با است برای آن یک خود تا بر هم نیز شده می شود کرد ما اما یا باید
        هر آنها بود دارد کند پس اگر همه دو چه
    """,
    "fi": """
        ja on ei se että oli hän mutta ovat joka myös kun niin kuin tai ole jos sen ne voi vain
        mukaan jo sekä olla tämä jotka vielä nyt ennen kanssa hänen tämän siitä
    """,
    "fr": """
        au aux avec ce cette ces comme dans de des du elle en est et il ils la le les leur
        mais ne nous ont ou par pas plus pour qu que qui sa se ses son sont sur un une vous
    """,
    "he": """
        של את על לא זה הוא היא עם גם כי או אם אבל כל יש אני יותר היה הם אחד בין רק כמו לאחר אין
        עוד מה אשר כך זו היו אל
    """,
    "hr": """
        i je u na se da za od su s a o iz koji koja koje kao ne ili do te bi što ali po sve može
        biti će samo nije uz ako kako već sam
    """,
    "hu": """
        a az és hogy nem is egy van ez de meg csak el volt mint már ha vagy még azt ki lehet
        minden amely után között kell ezt ami akkor majd pedig úgy lesz
    """,
    "id": """
        yang dan di untuk dengan dari ini pada tidak itu dalam adalah ke akan oleh juga atau
        sebagai dapat ada bisa karena telah saat lebih anda jika bahwa saya kita mereka tersebut
    """,
    "it": """
        al alla anche che come con da dal dei del della di e gli ha i il in io la le lo ma
        nel nella non o per più questo se si sono su sua suo un una
    """,
    "nl": """
        aan als bij dat de den die dit door een en er haar heeft het hij hun ik in is maar
        met naar niet nog of om ook op over te tot uit van voor was werd wordt ze zijn
    """,
    "no": """
        og i å det er en til på de den som med av for ikke et han har var fra men vi kan seg om
        eller hun ble etter også over være skal nå hvis hvor ut når mye jeg
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
    "ro": """
        și de în a la cu pe care nu o un să că din pentru este mai sunt se al ale au fi prin dar
        sau cel acest această fost după până când dacă lui ei
    """,
    "ru": """
        а без был была были было быть в во вы для до его ее если есть же за и из или их к
        как когда который мы на не но о он она они от по при с со так то только у уже что
        это
    """,
    "sv": """
        och i att det är en till på de den som med av för inte ett han har var från men vi kan
        sig om eller hon blev efter också över vara ska nu där ut när mycket jag
    """,
    "tr": """
        ve bir bu da de için ile olarak çok daha en olan gibi ne kadar o var ama değil ya her
        sonra ise olduğu ben mi bunu veya şey iki hem bütün
    """,
    "uk": """
        і в на не що з у до та як за від це для по його але про він бути є або також які який
        було так при був вже якщо ми ви вони й
    """,
}

STOP_WORDS = {language: frozenset(words.split()) for language, words in _LISTS.items()}
