"""Words to write pages with, the commonest first: those of English by the part they play."""

# ruff: noqa: RUF001 - letters of other scripts are meant.

_ENGLISH = {
    "nouns": """
        time year way day thing life child world school state family student group country
        problem hand part place case week company system program question work government
        number night point home water room mother area money story fact month lot right study
        book eye job word business issue side kind head house service friend father power hour
        game line end member law car city community name president team minute idea body back
        parent face others level office door health person art war history party result change
        morning reason research moment air teacher force education river garden bridge market
        village mountain forest island harbour engine letter window kitchen library museum
        farmer captain winter summer station train road valley storm field coffee bread lamp
        table chair wall stone wood iron glass paper ship coast doctor nurse lawyer painter
        singer writer editor baker tailor neighbour visitor traveller crowd council budget
        permit tax loan harvest orchard meadow canal lighthouse ferry tunnel tower roof recipe
        butter pepper onion kettle blanket jacket pocket mirror ladder hammer needle thread
        button satellite telescope battery signal circuit sensor algorithm archive database
        network protocol
    """,
    "adjectives": """
        new good high old great big small large young different long little important bad right
        early public same able human local late hard major better economic strong possible
        whole free military true federal international full special easy clear recent certain
        personal open red difficult available likely short single medical current wrong private
        past foreign fine common poor natural significant similar hot dead central happy
        serious ready simple left physical general quiet green dark cold warm bright narrow
        broad gentle patient stubborn curious distant wooden ancient modern rural coastal
        northern southern annual weekly careful sudden steady rusty muddy silver golden
    """,
    "verbs": """
        said made took found gave told became left felt put brought began kept held wrote stood
        heard let meant set met paid sat spoke lay led read grew lost fell sent built
        understood drew broke spent cut rose drove bought wore chose opened closed moved turned
        asked needed tried called worked looked used wanted showed played ran believed happened
        carried watched followed stopped created allowed added offered remembered considered
        appeared served expected stayed reached remained suggested raised passed sold required
        reported decided pulled repaired painted measured counted collected
    """,
    "verbs after to": """
        see make find give tell keep bring hold write hear understand build choose open move
        ask try call use show play carry watch follow stop create add offer remember consider
        serve expect reach raise pass sell report decide pull repair paint measure count
        collect visit share explain improve cross
    """,
    "adverbs": """
        also just now then even well still again never always often later almost together
        already soon slowly quickly quietly carefully usually finally probably certainly
        recently suddenly rarely
    """,
    "prepositions": """
        in of on with for at by from about into through after over between against
    """,
    "joints": """
        and but because while so although until when
    """,
    "determiners": """
        the a the this the their his the every our one the that her
    """,
    "pronouns": """
        he they she it we I you
    """,
    "names": """
        Alma Boris Carla Dmitri Elena Felix Greta Hassan Ines Jonas Kavita Leon Marta Nikolai
        Olga Pablo Rosa Samuel Tove Ursula Viktor Wanda Xavier Yusuf Zora
    """,
}

_FOREIGN = {
    "de": """
        die der und in zu den das nicht von sie ist des sich mit dem dass er es ein ich auf so
        eine auch als an nach wie im für man aber aus durch wenn nur war noch werden bei hat
        wir was wird sein einen welche sind oder zur um haben einer mir über ihm diese einem
        ihr uns da zum kann doch vor Haus Stadt Jahr Zeit Menschen Straße Arbeit Leben Wasser
        Schule Bahnhof Garten Fenster Brücke Morgen Abend Freund Mutter Vater Kinder Geschichte
        Wetter Winter Sommer Küche Brot Bäcker Fluss geht kommt sieht findet bleibt steht liegt
        arbeitet spielt beginnt öffnet schließt alt neu groß klein schön ruhig warm kalt
        langsam schnell heute gestern morgen immer wieder vielleicht
    """,
    "fr": """
        de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce
        il sont avec son elle mais comme ou on nous cette ces leur aux vous tout même sans été
        fait entre maison ville année temps gens rue travail vie eau école gare jardin fenêtre
        pont matin soir ami mère père enfants histoire météo hiver cuisine pain boulanger
        rivière village montagne livre va vient voit trouve reste travaille joue commence ouvre
        ferme vieux nouveau grand petit beau calme chaud froid lentement vite aujourd'hui hier
        demain toujours encore peut-être souvent
    """,
    "es": """
        de la que el en y a los se del las un por con no una su para es al lo como más o pero
        sus le ha me si sin sobre este ya entre cuando todo esta ser son dos también fue había
        era muy años hasta casa ciudad año tiempo gente calle trabajo vida agua escuela
        estación jardín ventana puente mañana tarde amigo madre padre niños historia clima
        invierno verano cocina pan río pueblo libro va viene ve encuentra queda trabaja juega
        empieza abre cierra viejo nuevo grande pequeño bonito tranquilo caliente frío despacio
        rápido hoy ayer siempre otra vez quizás nunca
    """,
    "ru": """
        и в не на я быть он с что а по это она этот к но они мы весь который из у то за свой ее
        так же от как для вы до один о если или когда уже был была было были только его их при
        без со есть дом город год время люди улица работа жизнь вода школа вокзал сад окно мост
        утро вечер друг мать отец дети история погода зима лето кухня хлеб река деревня гора
        книга идёт видит находит стоит лежит работает играет начинает открывает закрывает
        старый новый большой маленький красивый тихо тепло холодно медленно быстро сегодня
        вчера завтра всегда опять может никогда
    """,
    "zh": """
        的 一 是 不 了 在 人 有 我 他 这 中 大 来 上 国 个 到 说 们 为 子 和 你 地 出 道 也 时
        年 得 就 那 要 下 以 生 会 自 着 去 之 过 家 学 对 可 她 里 后 小 么 心 多 天 而 能 好
        都 然 没 日 于 起 还 发 成 事 只 作 当 想 看 文 无 开 手 十 用 城市 工作 生活 学校 朋友
        母亲 父亲 孩子 历史 天气 冬天 夏天 厨房 面包 河流 村庄 高山 今天 昨天 明天
    """,
}

ENGLISH = {part: words.split() for part, words in _ENGLISH.items()}
FOREIGN = {language: words.split() for language, words in _FOREIGN.items()}
