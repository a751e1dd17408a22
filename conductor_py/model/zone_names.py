"""Names and abbreviations of time zones that stand for one fixed distance from UTC.

These are the names that the date formatter of a Java server knows (English, the locale data of
Java 17), each with what it means there: CEST is always UTC+2, in winter, too. Where several zones
share a name, the one that counts there counts here: CST is that of Chicago, IST that of Jerusalem,
BST that of London. Java 25 refuses half of the names; the others mean what they mean to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_BY_MINUTES: Final[Mapping[int, str]] = {
    -660: "nust|nut|sdt|sst|st|niue summer time|niue time",
    -600: (
        "ckhst|ckt|hast|hat|hdt|hst|tahst|taht|cook islands half summer time|"
        "cook islands standard time|cook islands time|hawaii standard time|"
        "hawaii-aleutian daylight time|hawaii-aleutian standard time|hawaii-aleutian time|"
        "tahiti summer time|tahiti time"
    ),
    -570: ("marst|mart|marquesas summer time|marquesas time"),
    -540: (
        "akst|akt|gamst|gamt|hadt|alaska standard time|alaska time|gambier summer time|gambier time"
    ),
    -480: (
        "akdt|pst|pt|alaska daylight time|northwest mexico standard time|northwest mexico time|"
        "pacific standard time|pacific time|pitcairn daylight time|pitcairn time"
    ),
    -420: (
        "mst|mt|pdt|mexican pacific daylight time|mexican pacific standard time|"
        "mexican pacific time|mountain standard time|mountain time|"
        "northwest mexico daylight time|pacific daylight time"
    ),
    -360: (
        "cst|ct|galst|galt|mdt|central standard time|central time|easter island standard time|"
        "easter island time|galapagos summer time|galapagos time|mountain daylight time"
    ),
    -300: (
        "cdt|cost|cot|easst|ecst|ect|est|et|pest|pet|acre standard time|acre summer time|"
        "acre time|central daylight time|colombia standard time|colombia summer time|"
        "colombia time|cuba standard time|cuba time|easter island summer time|"
        "eastern standard time|eastern time|ecuador summer time|ecuador time|"
        "peru standard time|peru summer time|peru time"
    ),
    -240: (
        "ast|at|bost|bot|clt|edt|gyst|gyt|vest|vet|amazon standard time|amazon summer time|"
        "amazon time|atlantic standard time|atlantic time|bolivia summer time|bolivia time|"
        "chile standard time|chile time|cuba daylight time|eastern daylight time|"
        "guyana summer time|guyana time|venezuela summer time|venezuela time"
    ),
    -210: ("nst|nt|newfoundland standard time|newfoundland time"),
    -180: (
        "adt|arst|art|brst|brt|clst|fkst|fkt|gfst|gft|pmst|pmt|pyst|pyt|rotst|rott|srst|srt|"
        "uyst|uyt|argentina standard time|argentina summer time|argentina time|"
        "argentine summer time|argentine time|atlantic daylight time|brasilia standard time|"
        "brasilia summer time|brasilia time|chile summer time|falkland islands standard time|"
        "falkland islands summer time|falkland islands time|french guiana summer time|"
        "french guiana time|paraguay standard time|paraguay summer time|paraguay time|"
        "punta arenas standard time|punta arenas time|rothera summer time|rothera time|"
        "st. pierre & miquelon standard time|st. pierre & miquelon time|suriname summer time|"
        "suriname time|uruguay standard time|uruguay summer time|uruguay time"
    ),
    -150: ("ndt|newfoundland daylight time"),
    -120: (
        "egt|fnst|fnt|pmdt|wgt|east greenland standard time|east greenland time|"
        "fernando de noronha standard time|fernando de noronha summer time|"
        "fernando de noronha time|south georgia daylight time|south georgia time|"
        "st. pierre & miquelon daylight time|west greenland standard time|west greenland time"
    ),
    -60: (
        "azot|cvst|cvt|egst|wgst|azores standard time|azores time|cape verde standard time|"
        "cape verde summer time|cape verde time|east greenland summer time|"
        "west greenland summer time"
    ),
    0: (
        "att|azost|bt|ghst|gmt|utc|wet|azores summer time|british time|"
        "coordinated universal time|ghana mean time|ghana summer time|greenwich mean time|"
        "irish time|troll time|western european standard time|western european time"
    ),
    60: (
        "bst|cet|met|wast|wat|west|british summer time|central african time|"
        "central european standard time|central european time|irish standard time|"
        "middle europe time|west africa standard time|west africa summer time|west africa time|"
        "western african time|western european summer time"
    ),
    120: (
        "cast|cat|cest|eet|ist|it|mest|sast|sat|central africa time|"
        "central african summer time|central european summer time|"
        "eastern european standard time|eastern european time|israel standard time|israel time|"
        "middle europe summer time|south africa standard time|south africa summer time|"
        "south africa time"
    ),
    180: (
        "east|eat|eest|idt|msd|msk|syost|syot|trst|trt|arabian daylight time|"
        "arabian standard time|arabian time|east africa time|eastern africa time|"
        "eastern african summer time|eastern european summer time|israel daylight time|"
        "moscow daylight time|moscow standard time|moscow summer time|moscow time|"
        "syowa summer time|syowa time|turkey summer time|turkey time|volgograd standard time|"
        "volgograd summer time|volgograd time"
    ),
    210: ("irdt|irst|irt|iran daylight time|iran standard time|iran time"),
    240: (
        "amst|amt|azst|azt|gdt|gest|get|gst|gt|must|mut|rest|ret|samst|samt|scst|sct|"
        "armenia standard time|armenia summer time|armenia time|astrakhan standard time|"
        "astrakhan time|azerbaijan standard time|azerbaijan summer time|azerbaijan time|"
        "georgia standard time|georgia summer time|georgia time|gulf daylight time|"
        "gulf standard time|gulf time|mauritius standard time|mauritius summer time|"
        "mauritius time|reunion summer time|reunion time|réunion time|samara standard time|"
        "samara summer time|samara time|saratov standard time|saratov time|"
        "seychelles summer time|seychelles time|ulyanovsk standard time|ulyanovsk time"
    ),
    270: ("afst|aft|afghanistan summer time|afghanistan time"),
    300: (
        "almst|almt|aqtst|aqtt|mawst|mawt|mvst|mvt|orast|orat|pkst|pkt|qosst|qost|qyzst|qyzt|"
        "tfst|tft|tjst|tjt|tmst|tmt|uzst|uzt|vosst|vost|yekst|yekt|alma-ata summer time|"
        "alma-ata time|aqtau summer time|aqtau time|aqtobe summer time|aqtobe time|"
        "atyrau daylight time|atyrau time|east kazakhstan time|"
        "french southern & antarctic lands summer time|french southern & antarctic lands time|"
        "french southern & antarctic time|kostanay summer time|kostanay time|"
        "maldives summer time|maldives time|mawson summer time|mawson time|oral summer time|"
        "oral time|pakistan standard time|pakistan summer time|pakistan time|"
        "qyzylorda summer time|qyzylorda time|tajikistan summer time|tajikistan time|"
        "turkmenistan standard time|turkmenistan summer time|turkmenistan time|"
        "uzbekistan standard time|uzbekistan summer time|uzbekistan time|vostok summer time|"
        "vostok time|west kazakhstan time|yekaterinburg standard time|"
        "yekaterinburg summer time|yekaterinburg time"
    ),
    330: ("india daylight time|india standard time|india time"),
    345: ("npst|npt|nepal summer time|nepal time"),
    360: (
        "bdst|bdt|btst|btt|iost|iot|kgst|kgt|omsst|omst|xjdt|xjt|bangladesh standard time|"
        "bangladesh summer time|bangladesh time|bhutan summer time|bhutan time|"
        "indian ocean territory summer time|indian ocean territory time|indian ocean time|"
        "kirgizstan summer time|kirgizstan time|kyrgyzstan time|omsk standard time|"
        "omsk summer time|omsk time|xinjiang daylight time|xinjiang standard time|"
        "xinjiang time"
    ),
    390: (
        "ccst|cct|mmst|mmt|cocos islands summer time|cocos islands time|myanmar summer time|"
        "myanmar time"
    ),
    420: (
        "cit|cxst|cxt|davst|davt|hovst|hovt|icst|ict|krast|krat|novst|novt|wib|wist|"
        "barnaul daylight time|barnaul standard time|barnaul time|christmas island summer time|"
        "christmas island time|davis summer time|davis time|hovd standard time|"
        "hovd summer time|hovd time|indochina summer time|indochina time|"
        "krasnoyarsk standard time|krasnoyarsk summer time|krasnoyarsk time|"
        "novosibirsk standard time|novosibirsk summer time|novosibirsk time|"
        "tomsk daylight time|tomsk standard time|tomsk time|west indonesia summer time|"
        "west indonesia time|western indonesia time"
    ),
    480: (
        "awdt|awst|awt|bnst|bnt|chost|chot|cist|hkst|hkt|irkst|irkt|myst|myt|sgst|sgt|ulast|"
        "ulat|wita|australian western daylight time|australian western standard time|"
        "australian western time|brunei darussalam time|brunei summer time|brunei time|"
        "casey time|central indonesia summer time|central indonesia time|china daylight time|"
        "china standard time|china time|hong kong standard time|hong kong summer time|"
        "hong kong time|irkutsk standard time|irkutsk summer time|irkutsk time|"
        "malaysia summer time|malaysia time|philippine standard time|philippine summer time|"
        "philippine time|singapore standard time|singapore summer time|singapore time|"
        "taipei daylight time|taipei standard time|taipei time|ulaanbaatar standard time|"
        "ulaanbaatar summer time|ulaanbaatar time|western australia time"
    ),
    525: (
        "acwdt|acwst|acwt|australian central western daylight time|"
        "australian central western standard time|australian central western time"
    ),
    540: (
        "eist|jdt|jst|jt|kdt|kst|kt|pwst|pwt|tlst|tlt|wit|yakst|yakt|"
        "east indonesia summer time|east indonesia time|east timor time|eastern indonesia time|"
        "japan daylight time|japan standard time|japan time|korean daylight time|"
        "korean standard time|korean time|palau summer time|palau time|timor-leste summer time|"
        "timor-leste time|yakutsk standard time|yakutsk summer time|yakutsk time"
    ),
    570: (
        "acdt|acst|act|australian central daylight time|australian central standard time|"
        "central australia time"
    ),
    600: (
        "aest|aet|chdt|chst|cht|chust|chut|ddust|ddut|pgst|pgt|vlast|vlat|"
        "australian eastern standard time|chamorro daylight time|chamorro standard time|"
        "chamorro time|chuuk summer time|chuuk time|dumont-d'urville summer time|"
        "dumont-d'urville time|dumont-d\u2019urville time|eastern australia time|"
        "papua new guinea summer time|papua new guinea time|vladivostok standard time|"
        "vladivostok summer time|vladivostok time"
    ),
    630: ("lhst|lht|lord howe standard time|lord howe time"),
    660: (
        "aedt|kosst|kost|lhdt|magst|magt|ncst|nct|nft|ponst|pont|sakst|sakt|sbst|sbt|sredt|"
        "sret|vust|vut|australian eastern daylight time|bougainville daylight time|"
        "bougainville standard time|bougainville time|kosrae summer time|kosrae time|"
        "lord howe daylight time|magadan standard time|magadan summer time|magadan time|"
        "new caledonia standard time|new caledonia summer time|new caledonia time|"
        "norfolk island standard time|norfolk island time|pohnpei summer time|ponape time|"
        "sakhalin standard time|sakhalin summer time|sakhalin time|solomon is. summer time|"
        "solomon is. time|solomon islands time|srednekolymsk daylight time|srednekolymsk time|"
        "vanuatu standard time|vanuatu summer time|vanuatu time"
    ),
    720: (
        "anast|anat|fjst|fjt|gilst|gilt|mhst|mht|nfst|nrst|nrt|nzst|nzt|petst|pett|tvst|tvt|"
        "wakst|wakt|wfst|wft|anadyr standard time|anadyr summer time|anadyr time|"
        "fiji standard time|fiji summer time|fiji time|gilbert is. summer time|"
        "gilbert is. time|gilbert islands time|marshall islands summer time|"
        "marshall islands time|nauru summer time|nauru time|new zealand standard time|"
        "new zealand time|norfolk island daylight time|petropavlovsk-kamchatski standard time|"
        "petropavlovsk-kamchatski summer time|petropavlovsk-kamchatski time|tuvalu summer time|"
        "tuvalu time|wake island time|wake summer time|wake time|wallis & futuna summer time|"
        "wallis & futuna time"
    ),
    765: ("chast|chat|chatham standard time|chatham time"),
    780: (
        "nzdt|phost|phot|tkst|tkt|tost|tot|wsdt|wsst|wst|apia daylight time|apia standard time|"
        "apia time|kanton daylight time|kanton standard time|kanton time|"
        "samoa daylight time|samoa standard time|samoa time|"
        "new zealand daylight time|phoenix is. summer time|phoenix is. time|"
        "phoenix islands time|tokelau summer time|tokelau time|tonga standard time|"
        "tonga summer time|tonga time"
    ),
    825: ("chadt|chatham daylight time"),
    840: ("linst|lint|line is. summer time|line is. time|line islands time"),
}

MINUTES_AHEAD: Final[Mapping[str, int]] = MappingProxyType(
    {name: minutes for minutes, names in _BY_MINUTES.items() for name in names.split("|")}
)
"""How many minutes clocks are ahead of UTC, by the name in lower case."""
